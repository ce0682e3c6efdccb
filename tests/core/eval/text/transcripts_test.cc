// What recognizers have in common.

#include "s2s/scores/transcripts.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <random>

#include "s2s/scores/texts.h"

using namespace s2s;

TEST_CASE("clips are received at one rate, and silence is left out") {
  const at::Tensor tone_S = at::ones({480}) / 2;
  const auto heard = heard_samples({{tone_S, 16000},
                                    {tone_S.to(at::kDouble).reshape({1, 480}), 48000},
                                    {at::zeros({480}), 16000},
                                    {at::Tensor(at::empty({0})), 16000}},
                                   16000);
  REQUIRE(heard.size() == 4);
  CHECK(at::equal(heard[0], tone_S));
  CHECK(heard[1].numel() == 160);
  CHECK((heard[1].scalar_type() == at::kFloat));
  CHECK(!heard[2].defined());
  CHECK(!heard[3].defined());
}

TEST_CASE("a word has the times and the mean probability of its labels") {
  const auto text_of = [](const std::vector<int64_t>& ids) {
    static const char* const kPieces[] = {"", " the", " c", "at"};
    std::string text;
    for (const int64_t id : ids) text += kPieces[id];
    return text;
  };
  const auto words = words_of_labels(
      {{0, 0, 0.1, 0.1}, {1, 0.1, 0.2, 0.5}, {2, 0.3, 0.4, 0.75}, {3, 0.4, 0.6, 0.25}}, text_of);
  REQUIRE(words.size() == 2);
  CHECK(words[0].text == "the");
  CHECK(words[0].start_s == 0.1);
  CHECK(words[0].end_s == 0.2);
  CHECK(words[0].confidence == 0.5);
  CHECK(words[1].text == "cat");
  CHECK(words[1].start_s == 0.3);
  CHECK(words[1].end_s == 0.6);
  CHECK(words[1].confidence == 0.5);
  CHECK(!words_of_labels({{1, 0, 1, {}}}, text_of)[0].confidence.has_value());
}

TEST_CASE("many words are as if all labels were decoded with each one, in less work") {
  size_t decoded = 0;
  // A piece may end a word, begin one, or both; the last one joins what is before it.
  const auto text_of = [&](const std::vector<int64_t>& ids) {
    static const char* const kPieces[] = {" the", "s ", " c", "at", "\u00e9", " a b", "", "-"};
    decoded += ids.size();
    std::string text;
    for (const int64_t id : ids) text += kPieces[id];
    return text;
  };
  std::mt19937 draw(3);
  std::vector<TimedLabel> labels;
  for (int i = 0; i < 2000; ++i) {
    labels.push_back({static_cast<int64_t>(draw() % 8), 0.1 * i, 0.1 * i + 0.1, 0.5});
  }
  const auto words = words_of_labels(labels, text_of);
  CHECK(decoded < 2000 * 200);
  std::vector<int64_t> ids;
  std::vector<std::string> texts;
  std::vector<double> starts;
  for (const TimedLabel& label : labels) {
    ids.push_back(label.id);
    texts = split_words(text_of(ids));
    if (texts.size() > starts.size()) starts.push_back(label.start_s);
  }
  REQUIRE(words.size() == starts.size());
  for (size_t w = 0; w < words.size(); ++w) {
    CHECK(words[w].text == texts[w]);
    CHECK(words[w].start_s == starts[w]);
  }
}
