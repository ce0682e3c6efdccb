// Metrics and scorers.

#include <ATen/ATen.h>

#include <cmath>
#include <utility>

#include "answers.h"

namespace s2s::conformance {
namespace {

using MakeMetric = std::function<std::unique_ptr<Metric>()>;

const std::vector<std::pair<const char*, const char*>> kExamples = {
    {"one two three", "one two three"},
    {"one too", "one two three"},
    {"", "a word"},
    {"a word", ""},
    {"", ""},
    {"\xc3\x89t\xc3\xa9, 12", "\xe4\xbd\xa0\xe5\xa5\xbd \xf0\x9f\x98\x80"}};

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

Answers broken_promises(const MakeMetric& make) {
  Questions questions;
  const std::unique_ptr<Metric> metric = make(), other = make();
  for (const auto& [hypothesis, reference] : kExamples) {
    metric->add(hypothesis, reference);
    other->add(hypothesis, reference);
  }
  const double value = metric->value();
  questions.ask(std::isfinite(value), "the value of " + std::to_string(kExamples.size()) +
                                          " examples is " + std::to_string(value) +
                                          ", which is no number");
  questions.ask(is_same(metric->value(), value), "the value is another one when it is asked again");
  questions.ask(is_same(other->value(), value),
                "another instance has another value for the same examples");
  const std::unique_ptr<Metric> fresh = make();
  fresh->add(kExamples[0].first, kExamples[0].second);
  questions.ask(std::isfinite(fresh->value()), "the value of one example is no number");
  return questions.take();
}

Answers broken_promises(Scorer& scorer) {
  Questions questions;
  scorer.prepare({"one two three", "four five"});
  const auto ask_clips = [&](const std::vector<AudioClip>& clips, const char* what) {
    const size_t count = scorer.transcribe(clips).size();
    questions.ask(count == clips.size(), std::string(what) + ": " + std::to_string(count) +
                                             " texts for " + std::to_string(clips.size()) +
                                             " clips");
  };
  ask_clips({}, "no clips");
  const at::Tensor time_S = at::arange(12000, at::kFloat) / 24000;
  ask_clips({{at::zeros({16000}), 16000}, {at::sin(time_S * 2764) * 0.1, 24000}},
            "silence and a tone of another sample rate");
  return questions.take();
}

}  // namespace s2s::conformance
