// What recognizers have in common.

#include "s2s/scores/transcripts.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

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
