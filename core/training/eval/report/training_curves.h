#pragma once
// The numbers of a run over its steps, thinned out for drawing.

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

/// Reads a run's metrics.jsonl: one curve per number and data set. Curves longer than `max_points`
/// are averaged over equal stretches of steps. A missing file gives no curves; an unfinished last
/// line is left out; after a resumed run the later line of a step counts.
/// Errors: [eval/metrics-line] for a line in the middle that is not a JSON object.
std::vector<Curve> read_curves(const std::string& path, size_t max_points = 500);

}  // namespace s2s
