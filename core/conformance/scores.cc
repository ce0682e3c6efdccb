// Metrics and scorers.

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "answers.h"

namespace s2s::conformance {
namespace {

using MakeMetric = std::function<std::unique_ptr<Metric>()>;

/// Hypotheses and references.
const std::vector<std::pair<const char*, const char*>> kTexts = {
    {"one two three", "one two three"},
    {"one too", "one two three"},
    {"", "a word"},
    {"a word", ""},
    {"", ""},
    {"\xc3\x89t\xc3\xa9, 12", "\xe4\xbd\xa0\xe5\xa5\xbd \xf0\x9f\x98\x80"}};

Spoken spoken(const std::string& text, double start_s) {
  Spoken out;
  out.text = text;
  out.normalized = text;
  out.audio = {at::zeros({16000}), 16000};
  out.speech = {{start_s, start_s + 0.5}};
  if (text.empty()) return out;
  out.tokens = {{5, TokenMark::Kind::kBos, ""}, {6, TokenMark::Kind::kText, text}};
  out.words = {{text, start_s, start_s + 0.08}};
  return out;
}

/// Dialogues that have everything, and prompts that have texts only.
std::vector<MetricExample> metric_examples() {
  std::vector<MetricExample> out;
  for (const bool is_dialogue : {true, false}) {
    for (const auto& [hypothesis, reference] : kTexts) {
      MetricExample& example = out.emplace_back();
      example.id = std::to_string(out.size());
      example.data_set = "dev";
      example.hypothesis.text = hypothesis;
      example.reference.text = reference;
      if (!is_dialogue) continue;
      example.duration_s = 2;
      example.turns = {{false, 0, 0.5, "a question"}, {true, 0.7, 1.2, reference}};
      example.hypothesis = spoken(hypothesis, 0.8);
      example.reference = spoken(reference, 0.7);
      example.user = spoken("a question", 0);
      example.user_hypothesis = spoken("a question", 0);
    }
  }
  return out;
}

std::vector<std::pair<std::string, double>> values_of(const Metric& metric) {
  std::vector<std::pair<std::string, double>> out;
  for (const MetricValue& value : metric.values()) out.emplace_back(value.name, value.value);
  return out;
}

bool is_same(const std::vector<std::pair<std::string, double>>& a,
             const std::vector<std::pair<std::string, double>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first &&
           (x.second == y.second || (std::isnan(x.second) && std::isnan(y.second)));
  });
}

}  // namespace

Answers broken_promises(const MakeMetric& make) {
  Questions questions;
  const std::unique_ptr<Metric> metric = make(), other = make();
  const size_t num_values = metric->values().size();
  questions.ask(num_values > 0, "there are no values");
  for (const MetricExample& example : metric_examples()) {
    metric->add(example);
    other->add(example);
  }
  const auto values = values_of(*metric);
  questions.ask(values.size() == num_values, "examples change the list of values");
  for (const auto& [name, value] : values) {
    questions.ask(!std::isinf(value), "the value '" + name + "' is infinite");
  }
  questions.ask(is_same(values_of(*metric), values), "a value is another one when asked again");
  questions.ask(is_same(values_of(*other), values),
                "another instance has another value for the same examples");
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
