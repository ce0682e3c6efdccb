#pragma once
// The metrics of this build, as every validation of answers has them.

#include "eval/metrics/named_metric.h"
#include "plugins/built_plugins.h"

namespace s2s::test {

inline std::vector<NamedMetric> built_metrics() {
  static BuiltPlugins plugins;
  std::vector<NamedMetric> metrics;
  for (const char* const name : {"bleu", "wer", "cer", "exact", "named_answers", "turn_taking"}) {
    metrics.push_back(named_metric(name, name, /*is_listed=*/false, [name] {
      Config node = Config::map();
      node["name"] = Config::scalar(name);
      return plugins.create<Metric>(node);
    }));
  }
  return metrics;
}

}  // namespace s2s::test
