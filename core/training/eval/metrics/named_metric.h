#pragma once
// Metrics of plugins (kind `metric`) under the names that reports and metrics.jsonl have for them.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "s2s/config.h"
#include "s2s/kinds/metric.h"

namespace s2s {

/// A metric that can be made any number of times.
struct NamedMetric {
  std::string name;
  std::function<std::unique_ptr<Metric>()> create;  // has seen no example
};

/// The components that `node` lists (model.metrics): none, one map, or a list of maps. With each
/// its name in reports: the component's, with "_" in place of the point of "vendor.name", and "_2"
/// and so on behind a name that is there already.
std::vector<std::pair<std::string, Config>> metric_components(const Config& node);

/// The metrics over the examples of one data set and one source of text.
class MetricBoard {
 public:
  MetricBoard() = default;
  explicit MetricBoard(const std::vector<NamedMetric>& metrics);
  /// The texts as they are: what has to be normalized, the metric normalizes.
  void add(const std::string& hypothesis, const std::string& reference);
  /// By name; empty before the first example.
  std::map<std::string, double> values() const;

 private:
  std::vector<std::pair<std::string, std::unique_ptr<Metric>>> metrics_;
  int64_t num_examples_ = 0;
};

}  // namespace s2s
