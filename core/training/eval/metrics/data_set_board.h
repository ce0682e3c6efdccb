#pragma once
// The scores of one validation data set, for tables, JSON and metrics.jsonl.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eval/metrics/example_measures.h"
#include "eval/metrics/named_metric.h"

namespace s2s {

/// A table of scores: rows of numbers under named columns.
struct ScoreTable {
  enum class Better { kNeither, kHigher, kLower };
  struct Row {
    std::string label;
    std::string hint;  // one sentence that says what it is
    std::string unit;  // "%", "s" or ""; a "%" cell is a fraction of one
    Better better = Better::kNeither;
    std::vector<std::optional<double>> cells;  // one per column
  };
  std::string title;
  std::vector<std::string> columns;
  std::vector<Row> rows;
};

/// Adds examples of one data set up.
class DataSetBoard {
 public:
  /// metrics: of plugins, computed for every source of text.
  explicit DataSetBoard(std::string name, const std::vector<NamedMetric>& metrics = {});
  void add(const ReportExample& example, const ExampleMeasures& measures);

  const std::string& name() const { return name_; }
  int64_t num_examples() const { return num_examples_; }
  const ScoreBoard& texts() const { return texts_; }

  /// Answer, text channel, codec round trip and reference side by side.
  ScoreTable table() const;
  /// The model's scores by name: txt_bleu, asr_bleu, asr_wer, ...; beside them what the scorer
  /// makes of the reference audio and of its round trip through the codec: asr_bleu_reference,
  /// asr_bleu_round_trip, ... A metric NAME of a plugin is txt_NAME, asr_NAME, ...
  std::map<std::string, double> numbers() const;
  /// {"examples": n, "texts": {...}, "turn_taking": {"model": {...}, ...}}
  nlohmann::ordered_json to_json() const;

 private:
  void add_metrics(ScoreTable& table) const;

  std::string name_;
  int64_t num_examples_ = 0;
  ScoreBoard texts_;
  std::array<MetricBoard, kTextSources.size()> metrics_;
  DuplexCounts answer_, reference_, round_trip_;
};

}  // namespace s2s
