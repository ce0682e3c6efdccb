#pragma once
// Metrics of plugins (kind `metric`), with their names in reports and in metrics.jsonl.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "s2s/config.h"
#include "s2s/kinds/metric.h"

namespace s2s {

/// A metric that can be created any number of times.
struct NamedMetric {
  std::string name;
  std::function<std::unique_ptr<Metric>()> create;  // returns a metric without examples
};

/// Returns the components that `node` (model.metrics) lists: none, one map, or a list of maps. Each
/// gets its name in reports: the name of the component, with "_" for the point in "vendor.name". A
/// repeated name gets the suffix "_2", "_3" and so on.
std::vector<std::pair<std::string, Config>> metric_components(const Config& node);

/// Computes the metrics over the examples of one data set and one text source.
class MetricBoard {
 public:
  MetricBoard() = default;
  explicit MetricBoard(const std::vector<NamedMetric>& metrics);
  /// Adds texts without normalization. A metric normalizes what it needs.
  void add(const std::string& hypothesis, const std::string& reference);
  /// Returns the values by name. Empty before the first example.
  std::map<std::string, double> values() const;

 private:
  std::vector<std::pair<std::string, std::unique_ptr<Metric>>> metrics_;
  int64_t num_examples_ = 0;
};

}  // namespace s2s
