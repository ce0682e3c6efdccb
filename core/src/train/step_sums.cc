#include "train/step_sums.h"

#include <cmath>

namespace s2s {

StepFrames agree_on_frames(ParallelStrategy& strategy, int64_t frames, bool has_data) {
  const std::vector<double> sums =
      strategy.sum_over_data({static_cast<double>(frames), has_data ? 0.0 : 1.0});
  return {sums[0], sums[1] == 0};
}

bool sum_over_data(ParallelStrategy& strategy, StepReport& report, bool wants_to_stop) {
  int64_t* const counts[] = {&report.frames, &report.padded_frames, &report.tokens,
                             &report.batch_size};
  std::vector<double> numbers = {wants_to_stop ? 1.0 : 0.0, report.loss};
  for (const int64_t* count : counts) numbers.push_back(static_cast<double>(*count));
  for (const auto& [name, value] : report.parts) numbers.push_back(value);
  numbers = strategy.sum_over_data(numbers);
  size_t next = 1;
  report.loss = numbers[next++];
  for (int64_t* count : counts) *count = std::llround(numbers[next++]);
  for (auto& [name, value] : report.parts) value = numbers[next++];
  return numbers[0] > 0;
}

}  // namespace s2s
