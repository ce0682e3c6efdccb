#pragma once
// The parts of bench's JSON that several of its commands print.

#include <nlohmann/json.hpp>

#include "s2s_run/bench/op_profile.h"
#include "s2s_run/bench/step_clock.h"

namespace s2s::run {

/// Milliseconds of each part of a step, in its order.
inline nlohmann::ordered_json split_json(const StepClock& clock) {
  nlohmann::ordered_json out;
  for (const auto& [name, seconds] : clock.medians()) out[name] = 1000 * seconds;
  return out;
}

/// The `count` most expensive operators, milliseconds and calls per step.
inline nlohmann::ordered_json ops_json(const OpProfile& profile, int64_t count, int64_t steps) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const OpTime& op : profile.sorted()) {
    if (static_cast<int64_t>(out.size()) == count) break;
    out.push_back({{"op", op.name},
                   {"ms", 1000 * op.own_s / static_cast<double>(steps)},
                   {"calls", op.calls / steps}});
  }
  return out;
}

}  // namespace s2s::run
