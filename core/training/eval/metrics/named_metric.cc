#include "eval/metrics/named_metric.h"

#include <algorithm>
#include <set>

namespace s2s {

namespace {

struct TextNames {
  MetricChannel channel;
  const char* before;
  const char* after;
  bool needs_scorer, is_best_case;
};
constexpr std::array<TextNames, 4> kTextNames = {
    {{MetricChannel::kTextChannel, "txt_", "", false, false},
     {MetricChannel::kModelAudio, "asr_", "", true, false},
     {MetricChannel::kReferenceAudio, "asr_", "_reference", true, true},
     {MetricChannel::kRoundTripAudio, "asr_", "_round_trip", true, true}}};

}  // namespace

std::string NamedMetric::name_of(const MetricValue& value) const {
  return value.name.empty() ? name : prefix + value.name;
}

NamedMetric named_metric(const std::string& component, const std::string& name, bool is_listed,
                         std::function<std::unique_ptr<Metric>()> create) {
  const std::unique_ptr<Metric> metric = create();
  NamedMetric out;
  out.name = name;
  // A metric of a third party, or one listed twice, needs a prefix.
  out.prefix = name == component ? "" : name + "_";
  out.is_listed = is_listed;
  out.create = std::move(create);
  out.scope = metric->scope();
  out.needs_audio = metric->needs_audio();
  out.values = metric->values();
  return out;
}

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

std::vector<LoggedValue> logged_values(const NamedMetric& metric) {
  std::vector<LoggedValue> out;
  const auto of_each = [&](const auto& take) {
    for (size_t i = 0; i < metric.values.size(); ++i) {
      if (metric.values[i].is_logged) take(metric.values[i], i);
    }
  };
  if (metric.scope != MetricScope::kTexts) {
    const MetricChannel channel =
        metric.scope == MetricScope::kVoices ? MetricChannel::kModelAudio : MetricChannel::kExample;
    of_each([&](const MetricValue& value, size_t i) {
      out.push_back({metric.name_of(value), channel, i});
    });
    return out;
  }
  for (const TextNames& names : kTextNames) {
    of_each([&](const MetricValue& value, size_t i) {
      out.push_back({names.before + metric.name_of(value) + names.after, names.channel, i,
                     names.needs_scorer, names.is_best_case});
    });
  }
  of_each([&](const MetricValue& value, size_t i) {
    if (value.user_name.empty()) return;
    out.push_back({metric.prefix + value.user_name, MetricChannel::kUserText, i});
  });
  return out;
}

}  // namespace s2s
