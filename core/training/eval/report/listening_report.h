#pragma once
// Writes a run's report folder: index.html (one file, works offline), predictions.jsonl, wav files.

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
  std::vector<NamedMetric> metrics;  // of plugins, per data set and per example
  double frame_s = 0.08;             // of the token channels
  /// Examples whose audio and pictures stand in the page: half of them the worst, the others spread
  /// evenly. The rest can be heard from the wav files as long as these lie beside the page.
  size_t max_embedded = 60;
};

/// The head of the page.
struct ReportSummary {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  // what run this is; in order
  std::vector<ScoreTable> extra_tables;                    // after those of the data sets
  std::string metrics_path;  // the run's metrics.jsonl for the curves; "" or missing: no curves
  std::vector<std::string> notes;  // what a reader of the scores should know
};

/// Examples are added one by one, so that only their compressed forms stay in memory.
class ListeningReport {
 public:
  /// Makes the folder; a report that was there stays until `finish`, except predictions and wavs.
  /// Errors: [eval/report-write].
  explicit ListeningReport(std::filesystem::path folder, ReportOptions options = {});

  /// Measures the example, writes its wav files and its line in predictions.jsonl.
  /// Errors: [eval/report-write].
  ExampleMeasures add(const ReportExample& example);

  /// Scores so far, one board per data set in the order of their first example.
  const std::vector<std::unique_ptr<DataSetBoard>>& boards() const { return boards_; }

  /// Writes index.html (under another name first, then renamed) and scores.json; returns the page's
  /// path. Errors: [eval/report-write], [eval/metrics-line].
  std::filesystem::path finish(const ReportSummary& summary);

 private:
  struct Entry {
    std::string example;  // JSON, safe in HTML
    std::string media;
    double badness = 0;
  };
  DataSetBoard& board_of(const std::string& data_set);
  ReportExample with_metrics(const ReportExample& example) const;
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
