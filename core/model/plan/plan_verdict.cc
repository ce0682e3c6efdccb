#include "plan/plan_verdict.h"

#include <fmt/format.h>

namespace s2s {
namespace {

constexpr double kTightShare = 0.9;

}  // namespace

const char* to_string(Fit fit) {
  switch (fit) {
    case Fit::kYes:
      return "fits";
    case Fit::kTight:
      return "tight";
    case Fit::kNo:
      return "too large";
  }
  return "";
}

DeviceNeed device_need(const PlanReport& report) {
  DeviceNeed need{static_cast<double>(report.rank.total()), report.step.length > 0};
  if (!need.has_activations) return need;
  const Activations& activations = report.activations;
  const auto at = [&report](const SavedBytes& bytes) {
    return bytes.at(report.step.rows, report.step.length);
  };
  const RecomputeSettings& recompute = report.settings.recompute;
  if (recompute.what == RecomputeSettings::What::kBlocks && recompute.every == 1) {
    need.bytes += at(activations.recomputed) + at(activations.largest_block) -
                  static_cast<double>(report.rank.block_copy_bytes);
  } else {
    need.bytes += at(activations.all);
  }
  return need;
}

Fit fit_of(const DeviceNeed& need, double device_bytes) {
  if (need.bytes > device_bytes) return Fit::kNo;
  return need.bytes > kTightShare * device_bytes ? Fit::kTight : Fit::kYes;
}

std::string verdict_line(const PlanReport& report, double device_bytes) {
  if (device_bytes <= 0) return "";
  const DeviceNeed need = device_need(report);
  const Fit fit = fit_of(need, device_bytes);
  const int64_t ranks = report.settings.mesh.world_size();
  std::string text = fmt::format("{:<11} {:.2f} of {:.2f} GB on {}", to_string(fit),
                                 need.bytes / 1e9, device_bytes / 1e9,
                                 ranks == 1 ? "one rank" : fmt::format("each of {} ranks", ranks));
  if (!need.has_activations) text += ", without activations (--sequence-length counts them)";
  if (fit == Fit::kTight) text += "; kernels' workspaces and gaps between tensors need some, too";
  if (fit == Fit::kNo) text += "; --layouts lists what would fit";
  return text + "\n";
}

}  // namespace s2s
