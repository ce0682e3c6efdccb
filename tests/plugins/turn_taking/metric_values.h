#pragma once
// Metrics of the plugin turn_taking, made from their options.

#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "s2s/kinds/metric.h"
#include "s2s/nn/weights.h"
#include "s2s/registry.h"

namespace s2s::test {

/// A metric whose options are JSON, at the place "model.metrics".
inline std::unique_ptr<Metric> metric_of(const Component<Metric>& component,
                                         const std::string& options) {
  BuildContext context;
  context.path = "model.metrics";
  return component.create(parse_json(options, "options"), context);
}

/// What there was to measure, by name.
inline std::map<std::string, double> numbers(const Metric& metric) {
  std::map<std::string, double> out;
  for (const MetricValue& value : metric.values()) {
    if (!std::isnan(value.value)) out[value.name] = value.value;
  }
  return out;
}

}  // namespace s2s::test
