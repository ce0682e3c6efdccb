#pragma once
// Writes a run's report folder: index.html (one file, works offline), predictions.jsonl, WAV files.

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "eval/metrics/data_set_board.h"
#include "eval/metrics/example_measures.h"
#include "eval/metrics/named_metric.h"
#include "eval/report/audio_encoding.h"
#include "eval/report/spectrogram.h"

namespace s2s {

struct ReportOptions {
  std::vector<NamedMetric> metrics;  // RunBuilder::metrics
  double frame_s = 0.08;             // frame length of the token channels
  /// Number of examples with audio and pictures inside the page. Half of them are the worst, the
  /// others are evenly spaced. The remaining examples play from the WAV files next to the page.
  size_t max_embedded = 60;
};

struct ReportSummary {
  std::string title;
  // What identifies the run, in display order.
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<ScoreTable> extra_tables;  // shown after the tables of the data sets
  std::string metrics_path;  // metrics.jsonl of the run, for the curves; "" or missing: no curves
  std::vector<std::string> notes;  // notes for readers of the scores
};

/// Writes a report. Examples are added one by one: only their compressed form stays in memory.
class ListeningReport {
 public:
  /// Creates the folder. An existing report page remains until `finish`; predictions and WAV files
  /// are replaced.
  /// Errors: [eval/report-write].
  explicit ListeningReport(std::filesystem::path folder, ReportOptions options = {});

  /// Measures the example, and writes its WAV files and its line in predictions.jsonl.
  /// Errors: [eval/report-write].
  ExampleMeasures add(const ReportExample& example);

  /// Scores so far, one board per data set, in the order of their first example.
  const std::vector<std::unique_ptr<DataSetBoard>>& boards() const { return boards_; }

  /// Writes index.html (under a temporary name, then renamed) and scores.json. Returns the path of
  /// the page. Errors: [eval/report-write], [eval/metrics-line].
  std::filesystem::path finish(const ReportSummary& summary);

 private:
  struct Entry {
    std::string example;  // JSON, safe in HTML
    std::string media;
    double badness = 0;
  };
  DataSetBoard& board_of(const std::string& data_set);
  std::map<std::string, std::string> write_clips(const ReportExample& example) const;
  std::string media_json(const ReportExample& example) const;
  std::vector<bool> choose_embedded() const;
  std::string page(const ReportSummary& summary) const;

  std::filesystem::path folder_;
  ReportOptions options_;
  std::ofstream predictions_;
  std::vector<std::unique_ptr<DataSetBoard>> boards_;
  std::vector<Entry> entries_;
};

}  // namespace s2s
