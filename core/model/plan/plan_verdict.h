#pragma once
// Whether a plan fits the memory of its devices.

#include <string>

#include "plan/plan_report.h"

namespace s2s {

/// What a rank's device holds in a step, in bytes.
struct DeviceNeed {
  double bytes = 0;
  bool has_activations = false;  // false: the length of sequences is not known
};

/// With what is recomputed as the settings say; where that is a part of the blocks, or norms and
/// MLPs, as if nothing were.
DeviceNeed device_need(const PlanReport& report);

enum class Fit { kYes, kTight, kNo };
/// "fits", "tight", "too large"
const char* to_string(Fit fit);
/// kTight: more than 90 %, of which kernels' workspaces and gaps between tensors need some.
Fit fit_of(const DeviceNeed& need, double device_bytes);

/// "fits        34.4 of 80.0 GB on each of 8 ranks", with a newline; "" when `device_bytes` is 0.
std::string verdict_line(const PlanReport& report, double device_bytes);

}  // namespace s2s
