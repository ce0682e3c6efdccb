#include "eval/metrics/monitored_metric.h"

#include <doctest/doctest.h>

#include "common/contains.h"
#include "plugins/built_metrics.h"

namespace s2s {
namespace {

using test::contains;

const std::vector<std::string> kOfModel = {"text_loss", "text_accuracy", "audio_loss"};

/// A run with validations of two sets.
RunOptions run_with(const std::string& monitor, const std::string& mode = "min",
                    bool has_scorer = false) {
  RunOptions run;
  run.trainer.val_check_interval = 5;
  run.validation_sets["dev"] = Config::map();
  run.validation_sets["far_field"] = Config::map();
  if (!monitor.empty()) run.exp_manager.checkpoint_callback_params.monitor = monitor;
  run.exp_manager.checkpoint_callback_params.mode = mode;
  if (has_scorer) run.model.scoring_asr["name"] = Config::scalar("pocketsphinx");
  return run;
}

/// Counts nothing.
class Length : public Metric {
 public:
  void add(const MetricExample&) override {}
  std::vector<MetricValue> values() const override { return {{.value = 0}}; }
};

/// Those of every validation, and that of model.metrics.
std::vector<NamedMetric> metrics_of(const RunOptions& run) {
  std::vector<NamedMetric> metrics = test::built_metrics();
  for (const auto& [name, node] : metric_components(run.model.metrics)) {
    metrics.push_back(named_metric(node.find("name")->text(), name, /*is_listed=*/true,
                                   [] { return std::make_unique<Length>(); }));
  }
  return metrics;
}

std::optional<int64_t> answered(const RunOptions& run) {
  return answered_batches(run, metrics_of(run));
}

std::string fault(const RunOptions& run) { return monitor_fault(run, metrics_of(run), kOfModel); }

TEST_CASE("answers are measured where somebody listens or a monitor needs them") {
  CHECK_FALSE(answered(run_with("")).has_value());
  CHECK_FALSE(answered(run_with("val_text_loss")).has_value());
  CHECK_FALSE(answered(run_with("val_asr_bleu")).has_value());  // answers are not transcribed
  CHECK(answered(run_with("val_txt_bleu")) == 0);
  CHECK(answered(run_with("val_takeover_rate_far_field")) == 0);
  CHECK(answered(run_with("", "min", true)) == 0);
  RunOptions limited = run_with("", "min", true);
  limited.trainer.limit_val_generate_batches = 3;
  CHECK(answered(limited) == 3);
  limited.trainer.limit_val_generate_batches = 0;
  CHECK_FALSE(answered(limited).has_value());
}

TEST_CASE("a plugin's metric is measured, and can be the monitor") {
  RunOptions run = run_with("val_txt_acme_length");
  CHECK(contains(fault(run), "val_text_loss"));  // nothing of that name yet
  run.model.metrics["name"] = Config::scalar("acme.length");
  CHECK(answered(run) == 0);
  for (const char* const mode : {"min", "max"}) {  // which is better, it does not say
    run.exp_manager.checkpoint_callback_params.mode = mode;
    CHECK(fault(run).empty());
  }
  run.exp_manager.checkpoint_callback_params.monitor = "val_asr_acme_length_dev";
  CHECK(contains(fault(run), "answers are not transcribed"));
  run.model.scoring_asr["name"] = Config::scalar("pocketsphinx");
  CHECK(fault(run).empty());
  run.exp_manager.checkpoint_callback_params.monitor = "val_lenght";
  CHECK(contains(fault(run), "val_txt_acme_length"));
}

TEST_CASE("a monitor that is measured has no fault, with and without its set and prefix") {
  for (const char* const name : {"", "val_text_loss", "text_loss", "val_text_loss_dev",
                                 "val_audio_loss_far_field", "val_txt_wer"}) {
    CHECK_MESSAGE(fault(run_with(name)).empty(), name);
  }
  for (const char* const name : {"val_asr_bleu", "val_asr_bleu_dev", "val_txt_bleu_far_field"}) {
    CHECK_MESSAGE(fault(run_with(name, "max", true)).empty(), name);
  }
  CHECK(fault(run_with("val_src_wer_dev")).empty());
  RunOptions questions = run_with("val_web-qa_acc", "max");
  questions.validation_sets["web-qa"] = Config::map();
  CHECK(fault(questions).empty());
  CHECK(monitor_fault(run_with("val_of_a_third_party"), {}, {}).empty());
  RunOptions nested = run_with("val_text_loss_far_field");
  nested.validation_sets["field"] = Config::map();  // "far_field" ends with it
  nested.validation_sets["loss"] = Config::map();
  CHECK(fault(nested).empty());
  nested.exp_manager.checkpoint_callback_params.monitor = "val_text_loss";
  CHECK(fault(nested).empty());
}

TEST_CASE("a monitor that nobody measures says what would measure it") {
  const std::string none = fault(run_with("val_nothing"));
  CHECK(contains(none, "monitor: 'val_nothing' is never measured"));
  CHECK(contains(none, "write one of val_text_loss, val_text_accuracy, val_audio_loss, alone"));
  CHECK(contains(fault(run_with("val_nothing", "min", true)), "val_asr_bleu"));
  CHECK(contains(fault(run_with("val_asr_bleu", "max")),
                 "set model.scoring_asr.name (s2s-run plugin list"));
  RunOptions silent = run_with("val_txt_bleu", "max");
  silent.trainer.limit_val_generate_batches = 0;
  CHECK(contains(fault(silent), "trainer.limit_val_generate_batches is 0"));
  RunOptions blind = run_with("val_text_loss");
  blind.trainer.val_check_interval.reset();
  CHECK(contains(fault(blind), "the run has no validations: set trainer.val_check_interval"));
}

TEST_CASE("a mode that keeps the worst is a fault") {
  CHECK(contains(fault(run_with("val_txt_bleu", "min")),
                 "is better when it is larger, but mode min keeps the worst; write mode: max"));
  CHECK(contains(fault(run_with("val_text_loss_dev", "max")), "write mode: min"));
  CHECK(contains(fault(run_with("val_text_accuracy", "min")), "write mode: max"));
}

}  // namespace
}  // namespace s2s
