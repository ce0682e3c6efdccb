#include "each_parameter.h"

S2S_PLUGIN("peer_optimizers", "0.1.0", "Apache-2.0",
           "optimizer:sgd\noptimizer:lion\noptimizer:adafactor\noptimizer:muon") {
  using namespace s2s::peer_optimizers;
  registrar.add(sgd_component());
  registrar.add(lion_component());
  registrar.add(adafactor_component());
  registrar.add(muon_component());
}
