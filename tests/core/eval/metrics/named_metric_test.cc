#include "eval/metrics/named_metric.h"

#include <doctest/doctest.h>

#include "eval/metrics/data_set_board.h"
#include "s2s/config.h"

namespace s2s {
namespace {

/// Characters too many or too few.
class Characters : public Metric {
 public:
  void add(const MetricExample& example) override {
    sum_ += static_cast<double>(example.hypothesis.text->size()) -
            static_cast<double>(example.reference.text->size());
  }
  std::vector<MetricValue> values() const override { return {{.value = sum_}}; }

 private:
  double sum_ = 0;
};

/// What a metric of `scope` is given: how many examples, the words and the seconds of audio.
class Given : public Metric {
 public:
  explicit Given(MetricScope scope) : scope_(scope) {}
  MetricScope scope() const override { return scope_; }
  bool needs_audio() const override { return true; }
  void add(const MetricExample& example) override {
    ++examples_;
    turns_ += static_cast<double>(example.turns.size());
    words_ += static_cast<double>(example.hypothesis.words.size());
    for (const TimedWord& word : example.hypothesis.words) end_s_ = word.end_s;
    if (example.hypothesis.heard) heard_ = static_cast<double>(example.hypothesis.heard->size());
  }
  std::vector<MetricValue> values() const override {
    return {{.name = "examples", .value = examples_},
            {.name = "turns", .value = turns_},
            {.name = "words", .value = words_},
            {.name = "heard", .value = heard_, .is_logged = false},
            {.name = "end_s", .value = end_s_, .is_logged = false}};
  }

 private:
  MetricScope scope_;
  double examples_ = 0, turns_ = 0, words_ = 0, heard_ = -1, end_s_ = 0;
};

template <MetricScope scope>
NamedMetric given(const std::string& component, const std::string& name) {
  return named_metric(component, name, true, [] { return std::make_unique<Given>(scope); });
}

const std::vector<NamedMetric> kMetrics = {named_metric(
    "acme.characters", "acme_characters", true, [] { return std::make_unique<Characters>(); })};

Config component(const std::string& name) {
  Config node = Config::map();
  node["name"] = Config::scalar(name);
  return node;
}

TEST_CASE("metrics are listed one or several, each under a name of its own") {
  CHECK(metric_components(Config()).empty());
  const auto one = metric_components(component("length"));
  REQUIRE(one.size() == 1);
  CHECK(one[0].first == "length");
  Config list = Config::list();
  for (const char* name : {"acme.length", "length", "acme.length"}) {
    list.items().push_back(component(name));
  }
  const auto several = metric_components(list);
  REQUIRE(several.size() == 3);
  CHECK(several[0].first == "acme_length");
  CHECK(several[1].first == "length");
  CHECK(several[2].first == "acme_length_2");
  CHECK(several[2].second.find("name")->text() == "acme.length");
}

TEST_CASE("a board has a plugin's metric for every source that had texts, as they were written") {
  DataSetBoard board("dev", kMetrics);
  ReportExample example;
  example.texts.reference = "It is on.";
  example.texts.text_channel = "It is on!!!";  // normalized, these would be equal
  board.add(example, {});
  example.texts.heard_model = "";
  board.add(example, {});
  const auto numbers = board.numbers();
  CHECK(numbers.at("txt_acme_characters") == 4);
  CHECK(numbers.at("asr_acme_characters") == -9);
  CHECK(numbers.size() == 2);
  CHECK(board.listed_numbers() == numbers);
  const ScoreTable table = board.table();
  REQUIRE(table.rows.size() == 1);
  const ScoreTable::Row& row = table.rows[0];
  CHECK(row.label == "acme_characters");
  CHECK(row.cells[0] == -9);
  CHECK(row.cells[1] == 4);
  CHECK_FALSE(row.cells[2].has_value());
}

TEST_CASE("a metric sees turns, tokens and words with their times") {
  DataSetBoard board("dev", {given<MetricScope::kVoices>("acme.voices", "acme_voices"),
                             given<MetricScope::kExamples>("whole", "whole"),
                             given<MetricScope::kExamples>("whole", "whole_2")});
  ReportExample example;
  example.turns = {{false, 0, 1, "is it on"}, {true, 1.2, 2, "yes it is"}};
  example.texts.text_channel = "yes it";
  example.frame_s = 0.08;
  example.answer_tokens = {{15, TokenMark::Kind::kBos, ""},
                           {16, TokenMark::Kind::kText, " ye"},
                           {17, TokenMark::Kind::kText, "s"},
                           {20, TokenMark::Kind::kText, " it"},
                           {25, TokenMark::Kind::kEos, ""}};
  example.heard_words[TextSource::kModelAudio] = {
      {"yes", 1.2, 1.5}, {"it", 1.5, 1.6}, {"is", 2, 2}};
  board.add(example, {3, {}, {{{1.2, 2}}}, {{{1.2, 2}}}, {}});
  const auto numbers = board.numbers();
  CHECK(numbers.at("acme_voices_turns") == 2);
  CHECK(numbers.at("acme_voices_words") == 2);
  CHECK(numbers.at("examples") == 1);  // not of a vendor: its values have their own names
  CHECK(numbers.at("whole_2_words") == 2);
  CHECK_FALSE(numbers.contains("end_s"));
  const nlohmann::json json = board.to_json();
  CHECK(json["acme_voices"]["model"]["acme_voices_end_s"] == doctest::Approx(1.68));
  CHECK(json["acme_voices"]["reference"]["acme_voices_examples"] == 1);
  CHECK(json["whole"]["words"] == 2);
  CHECK(json["whole"]["heard"] == 3);
  CHECK(json["acme_voices"]["model"]["acme_voices_heard"] == 3);
  CHECK(json["acme_voices"]["reference"]["acme_voices_heard"] == -1);
  CHECK(kMetrics[0].needs_audio == false);
  CHECK(given<MetricScope::kVoices>("a", "a").needs_audio);
}

}  // namespace
}  // namespace s2s
