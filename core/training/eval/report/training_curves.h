#pragma once
// The metrics of a run over its steps, downsampled for drawing.

#include <cstdint>
#include <string>
#include <vector>

namespace s2s {

struct Curve {
  std::string name;        // "loss", "learning_rate", ...
  std::string validation;  // the data set's name, or "" for training
  std::vector<int64_t> steps;
  std::vector<double> values;
};

/// Reads metrics.jsonl: one curve per metric and data set. Curves longer than `max_points` are
/// averaged over equal intervals of steps. A missing file gives no curves. An incomplete last line
/// is ignored. If a resumed run repeats a step, the later line counts. Of curves of more than
/// 16,384 points, sums of neighbors are kept, so that the memory does not grow with the run.
/// Errors: [eval/metrics-line] for another line that is not a JSON object; [io/line]; [io/read].
std::vector<Curve> read_curves(const std::string& path, size_t max_points = 500);

}  // namespace s2s
