#pragma once
// The schedules of DeepSpeed's files, with DeepSpeed's options and numbers.
// Source: deepspeed/runtime/lr_schedules.py. DeepSpeed steps a schedule after each update, so that
// optimizer step s (0-based) has the rate of its `last_batch_iteration` s - 1.

#include "s2s/kinds/schedule.h"
#include "s2s/plugin.h"

namespace s2s::deepspeed_schedules {

template <class Made, class Options>
std::unique_ptr<Schedule> create(const Config& options, const BuildContext& context) {
  return std::make_unique<Made>(read_options<Options>(options, context.path));
}

template <class Made, class Options>
Component<Schedule> component(const char* name, const char* summary, const char* tiny = nullptr) {
  return {.name = name,
          .summary = summary,
          .create = create<Made, Options>,
          .options = list_options<Options>,
          .tiny = tiny};
}

Component<Schedule> warmup_component();
Component<Schedule> warmup_decay_component();
Component<Schedule> warmup_cosine_component();
Component<Schedule> one_cycle_component();
Component<Schedule> range_test_component();

}  // namespace s2s::deepspeed_schedules
