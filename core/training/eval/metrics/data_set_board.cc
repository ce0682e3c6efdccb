#include "eval/metrics/data_set_board.h"

#include <algorithm>
#include <cmath>

#include "eval/metrics/metric_examples.h"

namespace s2s {

namespace {

using Json = nlohmann::ordered_json;
using Cell = std::optional<double>;

/// The order of kTextSources, with the answer first because it matters most.
constexpr std::array kColumns = {MetricChannel::kModelAudio, MetricChannel::kTextChannel,
                                 MetricChannel::kRoundTripAudio, MetricChannel::kReferenceAudio};

constexpr std::array<std::pair<MetricChannel, const char*>, 6> kTextBlocks = {
    {{MetricChannel::kTextChannel, "text_channel"},
     {MetricChannel::kModelAudio, "model"},
     {MetricChannel::kReferenceAudio, "reference"},
     {MetricChannel::kRoundTripAudio, "round_trip"},
     {MetricChannel::kAgreement, "text_audio_agreement"},
     {MetricChannel::kUserText, "user_text"}}};

size_t index_of(MetricChannel channel) { return static_cast<size_t>(channel); }

Cell cell_of(double value) { return std::isnan(value) ? Cell() : Cell(value); }

void add_row(ScoreTable& table, const std::string& label, const std::string& hint,
             const MetricValue& value, std::vector<Cell> cells) {
  const bool is_known =
      std::any_of(cells.begin(), cells.end(), [](const Cell& cell) { return cell.has_value(); });
  if (!is_known) return;
  table.rows.push_back({label, hint.empty() ? "a metric of a plugin" : hint, value.unit,
                        value.better, std::move(cells)});
}

bool has_any(const std::vector<MetricValue>& values) {
  return std::any_of(values.begin(), values.end(),
                     [](const MetricValue& value) { return !std::isnan(value.value); });
}

void add_values(const NamedMetric& metric, const std::vector<MetricValue>& values, Json& out) {
  for (const MetricValue& value : values) {
    Json& entry = out[value.json_name.empty() ? metric.name_of(value) : value.json_name];
    if (std::isnan(value.value)) continue;  // JSON has no NaN, so an undefined rate is null
    if (value.is_count) {
      entry = static_cast<int64_t>(value.value);
    } else {
      entry = value.value;
    }
  }
}

}  // namespace

DataSetBoard::Values DataSetBoard::Entry::values(MetricChannel channel) const {
  const std::unique_ptr<Metric>& found = of[index_of(channel)];
  return found == nullptr ? Values() : found->values();
}

DataSetBoard::DataSetBoard(std::string name, const std::vector<NamedMetric>& metrics)
    : name_(std::move(name)) {
  for (const NamedMetric& metric : metrics) entries_.push_back({metric, {}});
}

void DataSetBoard::add(const ReportExample& example, const ExampleSpeech& speech) {
  ++num_examples_;
  seconds_ += speech.duration_s;
  for (const ScopedExample& scoped : scoped_examples(example, speech)) {
    if (scoped.scope == MetricScope::kTexts) ++num_texts_[index_of(scoped.channel)];
    for (Entry& entry : entries_) {
      if (entry.metric.scope != scoped.scope) continue;
      std::unique_ptr<Metric>& metric = entry.of[index_of(scoped.channel)];
      if (metric == nullptr) metric = entry.metric.create();
      metric->add(scoped.example);
    }
  }
}

ScoreTable DataSetBoard::table() const {
  ScoreTable table;
  table.title = name_;
  table.columns = {"answer", "text channel", "codec round trip", "reference"};
  const auto rows_of = [&](MetricScope scope, auto add) {
    for (const Entry& entry : entries_) {
      if (entry.metric.scope == scope) (this->*add)(entry, table);
    }
  };
  rows_of(MetricScope::kTexts, &DataSetBoard::add_rows);
  rows_of(MetricScope::kTexts, &DataSetBoard::add_user_rows);
  rows_of(MetricScope::kExamples, &DataSetBoard::add_rows);
  rows_of(MetricScope::kVoices, &DataSetBoard::add_rows);
  return table;
}

void DataSetBoard::add_rows(const Entry& entry, ScoreTable& table) const {
  std::array<Values, kColumns.size()> found;
  for (size_t c = 0; c < kColumns.size(); ++c) found[c] = entry.values(kColumns[c]);
  if (entry.metric.scope == MetricScope::kExamples) {
    found[0] = entry.values(MetricChannel::kExample);
  }
  for (size_t i = 0; i < entry.metric.values.size(); ++i) {
    const MetricValue& value = entry.metric.values[i];
    if (!value.is_in_tables) continue;
    std::vector<Cell> cells;
    for (const Values& values : found) {
      cells.push_back(values.empty() ? Cell() : cell_of(values[i].value));
    }
    add_row(table, value.label.empty() ? entry.metric.name_of(value) : value.label, value.hint,
            value, std::move(cells));
  }
}

void DataSetBoard::add_user_rows(const Entry& entry, ScoreTable& table) const {
  for (const MetricValue& value : entry.values(MetricChannel::kUserText)) {
    if (value.user_label.empty()) continue;
    add_row(table, value.user_label, value.user_hint, value, {{}, cell_of(value.value), {}, {}});
  }
}

std::map<std::string, double> DataSetBoard::numbers() const {
  std::map<std::string, double> out;
  for (const Entry& entry : entries_) {
    for (const LoggedValue& logged : logged_values(entry.metric)) {
      const Values values = entry.values(logged.channel);
      if (values.empty() || std::isnan(values[logged.index].value)) continue;
      out[logged.name] = values[logged.index].value;
    }
  }
  return out;
}

std::map<std::string, double> DataSetBoard::listed_numbers() const {
  std::map<std::string, double> out;
  for (const Entry& entry : entries_) {
    if (!entry.metric.is_listed) continue;
    for (const LoggedValue& logged : logged_values(entry.metric)) {
      const Values values = entry.values(logged.channel);
      if (!values.empty() && !logged.is_best_case) out[logged.name] = values[logged.index].value;
    }
  }
  return out;
}

Json DataSetBoard::texts_json() const {
  Json out = Json::object();
  for (const Entry& entry : entries_) {
    if (entry.metric.scope != MetricScope::kTexts) continue;
    for (const LoggedValue& logged : logged_values(entry.metric)) {
      const Values values = entry.values(logged.channel);
      if (values.empty() || logged.is_best_case || std::isnan(values[logged.index].value)) continue;
      out[logged.name] = values[logged.index].value;
    }
  }
  for (const auto& [channel, name] : kTextBlocks) {
    const int64_t count = num_texts_[index_of(channel)];
    if (count == 0) continue;
    out[name]["examples"] = count;
    for (const Entry& entry : entries_) {
      if (entry.metric.scope != MetricScope::kTexts) continue;
      add_values(entry.metric, entry.values(channel), out[name]);
    }
  }
  return out;
}

Json DataSetBoard::voices_json() const {
  Json out = Json::object();
  for (const Entry& entry : entries_) {
    if (entry.metric.scope != MetricScope::kVoices) continue;
    const Values values = entry.values(MetricChannel::kModelAudio);
    if (!values.empty()) add_values(entry.metric, values, out[entry.metric.name]);
  }
  return out;
}

Json DataSetBoard::to_json() const {
  Json out = {{"examples", num_examples_}, {"texts", texts_json()}};
  for (const Entry& entry : entries_) {
    if (entry.metric.scope == MetricScope::kExamples) {
      const Values values = entry.values(MetricChannel::kExample);
      if (has_any(values)) add_values(entry.metric, values, out[entry.metric.name]);
    }
    if (entry.metric.scope != MetricScope::kVoices || seconds_ == 0) continue;
    for (const auto& [channel, name] : {std::pair{MetricChannel::kModelAudio, "model"},
                                        {MetricChannel::kReferenceAudio, "reference"},
                                        {MetricChannel::kRoundTripAudio, "round_trip"}}) {
      const Values values = entry.values(channel);
      if (!values.empty()) add_values(entry.metric, values, out[entry.metric.name][name]);
    }
  }
  return out;
}

}  // namespace s2s
