#include "train/whole_updates.h"

#include <c10/util/accumulate.h>

#include "s2s/error.h"
#include "train/weight_average.h"

namespace s2s {
namespace {

/// Errors: [config/optimizer-layout] for the first parameter of which this rank has a part only.
void require_whole(ParallelStrategy& strategy, Block& model) {
  for (const LocalShard& part : strategy.parts(model)) {
    if (part.tensor.numel() == c10::multiply_integers(part.sizes)) continue;
    throw Error(ExitCode::kConfig, "config/optimizer-layout",
                "the optimizer in model.optimizer needs whole parameters, but the strategy in "
                "trainer.strategy shards " +
                    part.name +
                    " and does not offer it as a whole\n"
                    "  expected: one of s2s's own strategies, or an optimizer that updates each "
                    "element by itself, such as adamw");
  }
}

}  // namespace

UsesWholeParameters* whole_parameters_user(Optimizer& optimizer) {
  if (auto* const averaging = dynamic_cast<AveragingOptimizer*>(&optimizer)) {
    return whole_parameters_user(averaging->updates());
  }
  return dynamic_cast<UsesWholeParameters*>(&optimizer);
}

bool is_whole_state(const Optimizer& optimizer, const std::string& name) {
  if (const auto* const averaging = dynamic_cast<const AveragingOptimizer*>(&optimizer)) {
    return is_whole_state(averaging->updates(), name);
  }
  const auto* const user = dynamic_cast<const UsesWholeParameters*>(&optimizer);
  return user != nullptr && user->is_whole_state(name);
}

std::vector<NamedTensor> parameters_to_attach(Optimizer& optimizer, ParallelStrategy& strategy,
                                              Block& model) {
  UsesWholeParameters* const user = whole_parameters_user(optimizer);
  if (user == nullptr) return strategy.optimizer_parameters(model);
  auto* const offers = dynamic_cast<OffersWholeParameters*>(&strategy);
  if (offers == nullptr) {
    require_whole(strategy, model);
    return strategy.optimizer_parameters(model);
  }
  const std::shared_ptr<const WholeParameters> parameters = offers->whole_parameters();
  user->use_whole_parameters(parameters);
  return parameters->shards();
}

}  // namespace s2s
