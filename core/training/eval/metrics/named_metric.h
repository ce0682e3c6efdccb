#pragma once
// Metrics (kind `metric`) with the names of their values in reports and in metrics.jsonl.

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "s2s/config.h"
#include "s2s/kinds/metric.h"

namespace s2s {

/// A metric that can be created any number of times.
struct NamedMetric {
  std::string name;                                 // of the component in reports
  std::string prefix;                               // of the names of its values
  bool is_listed = true;                            // in model.metrics; else it comes with s2s
  std::function<std::unique_ptr<Metric>()> create;  // returns a metric without examples
  MetricScope scope = MetricScope::kTexts;
  bool needs_audio = false;
  std::vector<MetricValue> values;  // without examples: what there is to measure

  /// The name of one of its values, without what its hypothesis adds ("txt_").
  std::string name_of(const MetricValue& value) const;
};

/// Describes a metric by an instance of it. `component`: its name as registered. `name`: in reports
/// (metric_components). Errors: those of `create`.
NamedMetric named_metric(const std::string& component, const std::string& name, bool is_listed,
                         std::function<std::unique_ptr<Metric>()> create);

/// Returns the components that `node` (model.metrics) lists: none, one map, or a list of maps. Each
/// gets its name in reports: the name of the component, with "_" for the point in "vendor.name". A
/// repeated name gets the suffix "_2", "_3" and so on.
std::vector<std::pair<std::string, Config>> metric_components(const Config& node);

/// A hypothesis of an example. The first four are the sources of texts (TextSource), and three of
/// them those of audio.
enum class MetricChannel {
  kTextChannel,
  kModelAudio,
  kReferenceAudio,
  kRoundTripAudio,
  kAgreement,  // the transcript of the model's audio against its text channel
  kUserText,   // what the model wrote of the user's words
  kExample,
};
constexpr size_t kNumMetricChannels = 7;

/// A value of a metric in metrics.jsonl.
struct LoggedValue {
  std::string name;
  MetricChannel channel = MetricChannel::kExample;
  size_t index = 0;  // in NamedMetric::values
  bool needs_scorer = false;
  bool is_best_case = false;  // not of the model: of the reference or its codec round trip
};
std::vector<LoggedValue> logged_values(const NamedMetric& metric);

}  // namespace s2s
