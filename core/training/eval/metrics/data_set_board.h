#pragma once
// The scores of one validation data set, for tables, JSON and metrics.jsonl.

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "eval/metrics/named_metric.h"
#include "eval/metrics/report_example.h"

namespace s2s {

/// A table of scores: rows of values under named columns.
struct ScoreTable {
  using Better = MetricValue::Better;
  struct Row {
    std::string label;
    std::string hint;  // one sentence that explains the row
    std::string unit;  // "%", "s" or ""; a "%" cell is a fraction of one
    Better better = Better::kNeither;
    std::vector<std::optional<double>> cells;  // one per column
  };
  std::string title;
  std::vector<std::string> columns;
  std::vector<Row> rows;
};

/// Sums the examples of one data set.
class DataSetBoard {
 public:
  DataSetBoard(std::string name, const std::vector<NamedMetric>& metrics);
  /// `speech`: speech_of(example).
  void add(const ReportExample& example, const ExampleSpeech& speech);

  const std::string& name() const { return name_; }
  int64_t num_examples() const { return num_examples_; }

  /// Returns the scores of answer, text channel, codec round trip and reference, one column each.
  ScoreTable table() const;
  /// Returns the logged values by name: txt_bleu, asr_bleu, ... Also those of the reference audio
  /// and of its codec round trip: asr_bleu_reference, asr_bleu_round_trip, ...
  std::map<std::string, double> numbers() const;
  /// Returns the model's values of the metrics that model.metrics lists, NaN included.
  std::map<std::string, double> listed_numbers() const;
  /// Returns {"examples": n, "texts": {...}, METRIC: {"model": {...}, ...}}: metrics of texts
  /// together, the others by their names.
  nlohmann::ordered_json to_json() const;
  /// Returns the values of metrics of audio over the model's audio, by the metrics' names.
  nlohmann::ordered_json voices_json() const;

 private:
  using Values = std::vector<MetricValue>;
  struct Entry {
    NamedMetric metric;
    std::array<std::unique_ptr<Metric>, kNumMetricChannels> of;  // null: without examples
    Values values(MetricChannel channel) const;
  };
  void add_rows(const Entry& entry, ScoreTable& table) const;
  void add_user_rows(const Entry& entry, ScoreTable& table) const;
  nlohmann::ordered_json texts_json() const;

  std::string name_;
  int64_t num_examples_ = 0;
  std::array<int64_t, kNumMetricChannels> num_texts_{};
  double seconds_ = 0;  // of dialogues
  std::vector<Entry> entries_;
};

}  // namespace s2s
