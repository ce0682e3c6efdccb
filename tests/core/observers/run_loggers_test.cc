#include "observers/run_loggers.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <stdexcept>

#include "common/contains.h"

namespace s2s {
namespace {

using test::contains;

/// Keeps what it gets, until it throws.
class Kept : public RunLogger {
 public:
  explicit Kept(std::map<int64_t, std::map<std::string, double>>& into, int64_t throws_at = -1)
      : into_(into), throws_at_(throws_at) {}
  void log(int64_t step, const std::map<std::string, double>& values) override {
    if (step == throws_at_) throw std::runtime_error("the disk of the logger is full");
    into_[step].insert(values.begin(), values.end());
  }
  void flush() override { into_[-1]["flushed"] += 1; }

 private:
  std::map<int64_t, std::map<std::string, double>>& into_;
  int64_t throws_at_;
};

TEST_CASE("loggers get the numbers of metrics.jsonl; one that fails is reported and left out") {
  std::map<int64_t, std::map<std::string, double>> first, second;
  std::vector<NamedLogger> named;
  named.push_back({"acme.first", std::make_unique<Kept>(first)});
  named.push_back({"acme.second", std::make_unique<Kept>(second, 2)});
  std::string warnings;
  RunLoggers loggers(std::move(named), [&](const std::string& text) { warnings += text; });
  StepReport step;
  step.loss = 3.5;
  step.parts["text_loss"] = 2.5;
  step.frames = 6;
  step.padded_frames = 8;
  step.step_time_s = 0.5;
  loggers.on_step(step);
  CHECK(warnings.empty());
  step.step = 1;
  loggers.on_step(step);
  CHECK(contains(warnings, "acme.second"));
  CHECK(contains(warnings, "the disk of the logger is full"));
  ValidationReport validation;
  validation.step = 2;
  validation.sets = {{"dev", {{"text_loss", 1.5}}}, {"far", {{"text_loss", 2.5}, {"wer", 1}}}};
  loggers.on_validation(validation);
  loggers.on_checkpoint(2, "step=2");
  loggers.on_end(2);

  CHECK(first[1]["train_loss"] == 3.5);
  CHECK(first[1]["text_loss"] == 2.5);
  CHECK(first[1]["padding_ratio"] == 0.25);
  CHECK(first[1]["frames_per_s"] == 12);
  CHECK_FALSE(first[1].contains("step"));
  CHECK(first[2]["val_text_loss_dev"] == 1.5);
  CHECK(first[2]["val_text_loss"] == 2);
  CHECK(first[2]["val_wer"] == 1);
  CHECK(first[-1]["flushed"] == 2);
  CHECK(second[1]["train_loss"] == 3.5);
  CHECK(second.size() == 1);
}

/// Keeps the order of what it gets. Its `log` and `flush` are all that a logger must have.
class Calls : public RunLogger {
 public:
  explicit Calls(std::vector<std::string>& into) : into_(into) {}
  void start(const LoggedRun& run) override { into_.push_back("start " + run.name); }
  void log(int64_t, const std::map<std::string, double>&) override { into_.push_back("log"); }
  void log_text(int64_t, const std::string& tag, const std::string& text) override {
    into_.push_back(tag + ": " + text);
  }
  void log_audio(int64_t, const std::string& tag, const LoggedAudio& audio) override {
    into_.push_back(tag + " " + audio.wav.substr(0, 4) + std::to_string(audio.num_samples));
  }
  void log_image(int64_t, const std::string& tag, const LoggedImage& image) override {
    into_.push_back(tag + " " + std::to_string(image.width) + "x" + std::to_string(image.height));
  }
  void log_histogram(int64_t, const std::string& tag, const LoggedHistogram&) override {
    into_.push_back(tag);
  }
  void flush() override { into_.push_back("flush"); }
  void finish(bool is_complete) override { into_.push_back(is_complete ? "complete" : "stopped"); }

 private:
  std::vector<std::string>& into_;
};

TEST_CASE("loggers get the run, the examples of validations, histograms and the end, in order") {
  std::vector<std::string> calls;
  std::map<int64_t, std::map<std::string, double>> plain;
  std::vector<NamedLogger> named;
  named.push_back({"acme.calls", std::make_unique<Calls>(calls)});
  named.push_back({"acme.plain", std::make_unique<Kept>(plain)});
  RunLoggers loggers(std::move(named), [](const std::string& text) { FAIL(text); });
  LoggedRun run;
  run.name = "tiny";
  run.max_steps = 4;
  loggers.start(run);
  ValidationReport report;
  report.step = 2;
  const AudioClip clip = {at::zeros({1600}), 16000};
  report.examples = {{"dev", "cut-1", {{"reference", "on"}, {"text channel", "off"}}, clip, {}},
                     {"dev", "cut-2", {{"reference", "up"}}, {}, clip}};
  report.histograms["llm.norm"] = {};
  loggers.on_validation(report);
  loggers.on_end(3);
  loggers.on_end(4);
  CHECK(calls ==
        std::vector<std::string>{"start tiny", "log",
                                 "val_dev/0/text: **cut-1**\n\nreference: on\n\n"
                                 "text channel: off",
                                 "val_dev/0/user RIFF1600", "val_dev/0/user_spectrogram 6x64",
                                 "val_dev/1/text: **cut-2**\n\n"
                                 "reference: up",
                                 "val_dev/1/answer RIFF1600", "val_dev/1/answer_spectrogram 6x64",
                                 "parameters/llm.norm", "stopped", "flush", "complete", "flush"});
}

}  // namespace
}  // namespace s2s
