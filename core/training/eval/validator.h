#pragma once
// Validation: several named data sets in lock-step; losses and accuracies, and when asked for, what
// the model answers and what an independent listener hears.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "eval/metrics/named_metric.h"
#include "eval/metrics/report_example.h"
#include "eval/metrics/shared_sets.h"
#include "s2s/kinds/data_source.h"
#include "s2s/kinds/scorer.h"
#include "s2s/kinds/speech_model.h"
#include "train/precision.h"
#include "train/step_report.h"

namespace s2s {

/// Whether the model answers the examples, and what is kept of it.
enum class Answers {
  kNone,
  kNumbers,   // the metrics of the answers are in the report; no audio is kept
  kExamples,  // every example with its audio, beside what codec and scorer allow at best
};

struct ValidationSettings {
  int64_t limit_batches = 0;  // per set, of all data ranks together; 0: all
  Answers answers = Answers::kNone;
  int64_t limit_answers = 0;  // batches of each set that are answered; 0: all of limit_batches
  Scorer* scorer = nullptr;   // writes down what is heard in the answers
  std::vector<NamedMetric> metrics;  // of plugins, beside those of answer_metrics()
  Precision precision;
  at::Device device = at::kCPU;
  /// Every data rank takes every n-th batch; null: one process.
  ParallelStrategy* strategy = nullptr;
  /// Called after each piece of work with what was done and how often so far, on all data ranks.
  std::function<void(const std::string& what, int64_t done)> progress;
};

class Validator {
 public:
  using Sets = std::map<std::string, ShareFactory>;
  Validator(SpeechModel& model, const Sets& sets, ValidationSettings settings);

  /// Leaves the model in the mode it was in. Metrics are means over all frames of a set. Every rank
  /// calls it, and gets the same.
  ValidationReport run(int64_t steps_done);
  /// With Answers::kExamples: every example of this rank with its audio, set by set.
  std::vector<ReportExample>& examples() { return examples_; }

 private:
  void run_batch(SharedSets& sets, const SharedSets::Turn& turn, MetricSums& sums);
  void answer(const SharedSets::Turn& turn, const Batch& batch, int64_t width);
  ReportExample example_of(const SharedSets::Turn& turn, const Batch& batch,
                           const Generation& generated, int64_t b) const;
  void add_best_case(const Batch& batch, size_t first);
  bool is_answered(int64_t number) const;
  void listen(size_t first);
  void add_numbers(ValidationReport& report);

  SpeechModel& model_;
  const Sets& sets_;
  ValidationSettings settings_;
  std::vector<ReportExample> examples_;
};

}  // namespace s2s
