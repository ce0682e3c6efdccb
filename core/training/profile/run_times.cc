#include "profile/run_times.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/moment.h"

namespace s2s::run {

std::string time_table(const RunTimes& times) {
  if (times.steps == 0) return "";
  const PhaseTimes& phases = times.phases;
  const auto row = [&times](const char* name, double seconds) {
    return fmt::format("\n  {:<26}{:10.3f} s {:10.2f} ms/step {:6.1f} %", name, seconds,
                       1000 * seconds / static_cast<double>(times.steps),
                       100 * seconds / times.wall_s);
  };
  std::string text =
      fmt::format("time of {} steps on this rank: {:.3f} s", times.steps, times.wall_s);
  text += row("data wait", phases.of(TrainingPhase::kData));
  text += row("host to device", phases.of(TrainingPhase::kToDevice));
  text += row("forward", phases.of(TrainingPhase::kForward));
  text += row("backward", phases.of(TrainingPhase::kBackward));
  text += row("communication not hidden", phases.communication_s);
  text += row("optimizer", phases.of(TrainingPhase::kUpdate));
  text += row("checkpoint", phases.of(TrainingPhase::kSave));
  text += row("validation", phases.of(TrainingPhase::kValidate));
  text += row("reports", phases.of(TrainingPhase::kReport));
  return text + row("sum", phases.sum());
}

double measured_flops(at::Device device, at::ScalarType type) {
  const at::NoGradGuard no_grad;
  const int64_t size = device.is_cuda() ? 4096 : 512;
  const at::Tensor a = at::full({size, size}, 0.5, at::TensorOptions(device).dtype(type));
  const at::Tensor out = at::empty_like(a);
  double best_s = 0;
  constexpr int kRounds = 5;
  for (int round = 0; round <= kRounds; ++round) {  // the first one warms up
    const Moment start(device);
    at::Tensor product = out;
    at::mm_out(product, a, a);
    const double taken_s = Moment(device).since(start);
    if (round > 0) best_s = round == 1 ? taken_s : std::min(best_s, taken_s);
  }
  const auto width = static_cast<double>(size);
  return best_s <= 0 ? 0 : 2 * width * width * width / best_s;
}

}  // namespace s2s::run
