#pragma once
// Validates several named data sets together. Measures losses and accuracies. If requested, also
// generates answers and transcribes them with an ASR scorer.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "eval/metrics/named_metric.h"
#include "eval/metrics/report_example.h"
#include "eval/metrics/shared_sets.h"
#include "s2s/kinds/data_source.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/kinds/scorer.h"
#include "s2s/kinds/shared_widths.h"
#include "s2s/kinds/speaks_turns.h"
#include "train/precision.h"
#include "train/step_report.h"

namespace s2s {

/// Whether the model answers the examples, and which data is kept.
enum class Answers {
  kNone,
  kNumbers,   // the report has the metrics of the answers; no audio is kept
  kExamples,  // every example with its audio, reference and codec round trip
};

struct ValidationSettings {
  int64_t limit_batches = 0;  // per set, over all data ranks; 0: all
  Answers answers = Answers::kNone;
  int64_t limit_answers = 0;         // answered batches of each set; 0: all of limit_batches
  int64_t kept_examples = 0;         // this rank's answered examples of each set in the report
  Scorer* scorer = nullptr;          // transcribes the answers
  std::vector<NamedMetric> metrics;  // of the answers (RunBuilder::metrics)
  Precision precision;
  at::Device device = at::kCPU;
  /// With n data ranks, each takes every n-th batch. Null: one process.
  ParallelStrategy* strategy = nullptr;
  /// Called after each unit of work with its name and the count so far, over all data ranks.
  std::function<void(const std::string& what, int64_t done)> progress;
};

class Validator {
 public:
  using Sets = std::map<std::string, ShareFactory>;
  Validator(Model& model, const Sets& sets, ValidationSettings settings);

  /// Restores the train or eval mode of the model. Metrics are means over all frames of a set.
  /// Every rank must call it and gets the same result.
  ValidationReport run(int64_t steps_done);
  /// With Answers::kExamples: every example of this rank with its audio, grouped by set.
  std::vector<ReportExample>& examples() { return examples_; }

 private:
  void run_batch(SharedSets& sets, const SharedSets::Turn& turn, MetricSums& sums);
  Generation speak(SharedSets& sets, const Batch& batch);
  Generation speak_turns(SharedSets& sets, const Batch& batch);
  Generation round_trip(const Batch& batch) const;
  void answer(const SharedSets::Turn& turn, const Batch& batch, const Generation& generated);
  void write(SharedSets& sets, const SharedSets::Turn& turn, const Batch& batch);
  ReportExample example_of(const SharedSets::Turn& turn, const Batch& batch,
                           const Generation& generated, int64_t b) const;
  HasCodec& voice() const;
  int64_t answer_rate_hz() const;
  void add_tokens(ReportExample& example, const Batch& batch, const Generation& generated,
                  int64_t b) const;
  void add_best_case(const Batch& batch, size_t first);
  bool is_answered(int64_t number) const;
  bool keeps_audio() const;
  void listen(size_t first);
  void keep(const ReportExample& example);
  void add_numbers(ValidationReport& report);

  Model& model_;
  AnswersSpeech* speech_;  // null: the model does not answer speech
  SpeaksText* speaker_;    // null: it does, or it does not speak the reference's text
  SpeaksTurns* teller_;    // null: it does, or it does not speak texts
  TextGenerator* writer_;  // null: it does, or it does not continue prompts
  HasCodec* codec_;        // null: the model trains no codec
  bool answers_in_evaluate_ = false;
  std::vector<PaddedTensor> padded_;  // what answers depend on (SharesWidths)
  const Sets& sets_;
  ValidationSettings settings_;
  std::vector<ReportExample> examples_;
  std::vector<ValidationExample> kept_;
};

}  // namespace s2s
