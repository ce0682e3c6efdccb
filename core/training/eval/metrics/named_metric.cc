#include "eval/metrics/named_metric.h"

#include <algorithm>
#include <set>

namespace s2s {

std::vector<std::pair<std::string, Config>> metric_components(const Config& node) {
  std::vector<std::pair<std::string, Config>> found;
  std::set<std::string> taken;
  const auto take = [&](const Config& component) {
    const Config* const written = component.find("name");
    if (written == nullptr) return;  // the check has reported this
    std::string name = written->text();
    std::replace(name.begin(), name.end(), '.', '_');
    std::string own = name;
    for (int64_t i = 2; !taken.insert(own).second; ++i) own = name + "_" + std::to_string(i);
    found.emplace_back(own, component);
  };
  if (node.is_list()) {
    for (const Config& item : node.items()) take(item);
  } else if (node.is_map()) {
    take(node);
  }
  return found;
}

MetricBoard::MetricBoard(const std::vector<NamedMetric>& metrics) {
  for (const NamedMetric& metric : metrics) metrics_.emplace_back(metric.name, metric.create());
}

void MetricBoard::add(const std::string& hypothesis, const std::string& reference) {
  ++num_examples_;
  for (const auto& [name, metric] : metrics_) metric->add(hypothesis, reference);
}

std::map<std::string, double> MetricBoard::values() const {
  std::map<std::string, double> values;
  if (num_examples_ == 0) return values;
  for (const auto& [name, metric] : metrics_) values[name] = metric->value();
  return values;
}

}  // namespace s2s
