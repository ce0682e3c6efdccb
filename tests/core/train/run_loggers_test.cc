#include "train/run_loggers.h"

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

TEST_CASE("loggers get the numbers of metrics.jsonl; one that fails is told of and left out") {
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
  loggers.on_validation({2, {{"dev", {{"text_loss", 1.5}}}}});
  loggers.on_checkpoint(2, "step=2");
  loggers.on_end(2);

  CHECK(first[1]["loss"] == 3.5);
  CHECK(first[1]["text_loss"] == 2.5);
  CHECK(first[1]["padding_ratio"] == 0.25);
  CHECK(first[1]["frames_per_s"] == 12);
  CHECK_FALSE(first[1].contains("step"));
  CHECK(first[2]["val_text_loss_dev"] == 1.5);
  CHECK(first[-1]["flushed"] == 2);
  CHECK(second[1]["loss"] == 3.5);
  CHECK(second.size() == 1);
}

}  // namespace
}  // namespace s2s
