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

/// A table of scores: rows of values under named columns.
struct ScoreTable {
  enum class Better { kNeither, kHigher, kLower };
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
  /// `metrics`: metrics of plugins, computed for every text source.
  explicit DataSetBoard(std::string name, const std::vector<NamedMetric>& metrics = {});
  void add(const ReportExample& example, const ExampleMeasures& measures);

  const std::string& name() const { return name_; }
  int64_t num_examples() const { return num_examples_; }
  const ScoreBoard& texts() const { return texts_; }

  /// Returns the scores of answer, text channel, codec round trip and reference, one column each.
  ScoreTable table() const;
  /// Returns the model's scores by name: txt_bleu, asr_bleu, asr_wer, ... Also returns the scores
  /// of the reference audio and of its codec round trip: asr_bleu_reference, asr_bleu_round_trip,
  /// ... The metric NAME of a plugin becomes txt_NAME, asr_NAME, ... A model that writes the user's
  /// words has src_txt_bleu and src_wer, a set of questions (NeMo's names of sets) has acc.
  std::map<std::string, double> numbers() const;
  /// Returns {"examples": n, "texts": {...}, "turn_taking": {"model": {...}, ...}}.
  nlohmann::ordered_json to_json() const;

 private:
  void add_metrics(ScoreTable& table) const;
  void add_user_text(ScoreTable& table) const;

  std::string name_;
  int64_t num_examples_ = 0;
  int64_t num_named_ = 0;  // examples whose text channel names an answer
  ScoreBoard texts_;
  std::array<MetricBoard, kTextSources.size()> metrics_;
  DuplexCounts answer_, reference_, round_trip_;
};

}  // namespace s2s
