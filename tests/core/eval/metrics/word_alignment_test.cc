#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "s2s/scores/texts.h"

namespace s2s {
namespace {

TEST_CASE("word errors count substitutions, deletions and insertions") {
  const ErrorCounts counts = word_errors("turn on the kitchen light", "turn off kitchen light now");
  CHECK(counts.substitutions == 1);
  CHECK(counts.deletions == 1);
  CHECK(counts.insertions == 1);
  CHECK(counts.reference_length == 5);
  CHECK(counts.rate() == doctest::Approx(0.6));
}

TEST_CASE("an empty reference has a rate only when nothing was said") {
  CHECK(word_errors("", "").rate() == 0);
  CHECK(std::isnan(word_errors("", "hello").rate()));
  CHECK(word_errors("hello", "").rate() == 1);
}

TEST_CASE("character errors count code points") {
  CHECK(character_errors("caf\xC3\xA9", "cafe").errors() == 1);
  CHECK(character_errors("caf\xC3\xA9", "caf").rate() == doctest::Approx(0.25));
}

TEST_CASE("an alignment spells both texts and costs what the errors say") {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> reference(random() % 8), hypothesis(random() % 8);
    for (auto* words : {&reference, &hypothesis}) {
      for (std::string& word : *words) word = std::string(1, static_cast<char>('a' + random() % 3));
    }
    std::vector<std::string> left, right;
    for (const WordEdit& edit : align_words(reference, hypothesis)) {
      if (edit.kind != EditKind::kInsert) left.push_back(edit.reference);
      if (edit.kind != EditKind::kDelete) right.push_back(edit.hypothesis);
      CHECK((edit.kind == EditKind::kEqual) == (edit.reference == edit.hypothesis));
    }
    CHECK(left == reference);
    CHECK(right == hypothesis);
    // The distance is symmetric and bounded by both lengths.
    const int64_t there = count_errors(align_words(reference, hypothesis)).errors();
    CHECK(there == count_errors(align_words(hypothesis, reference)).errors());
    CHECK(there <= static_cast<int64_t>(std::max(reference.size(), hypothesis.size())));
  }
}

}  // namespace
}  // namespace s2s
