#include "schedules.h"

S2S_PLUGIN("deepspeed_schedules", "0.1.0", "Apache-2.0",
           "schedule:warmup_lr\nschedule:warmup_decay_lr\nschedule:warmup_cosine_lr\n"
           "schedule:one_cycle_lr\nschedule:lr_range_test") {
  using namespace s2s::deepspeed_schedules;
  registrar.add(warmup_component());
  registrar.add(warmup_decay_component());
  registrar.add(warmup_cosine_component());
  registrar.add(one_cycle_component());
  registrar.add(range_test_component());
}
