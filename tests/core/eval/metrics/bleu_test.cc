#include "s2s/scores/bleu.h"

#include <doctest/doctest.h>

#include "core/eval/text/text_vectors.h"

namespace s2s {
namespace {

using Tokens = std::vector<std::string>;

bool same_counts(const BleuScore& score, const nlohmann::json& expected, const char* matches) {
  return nlohmann::json(score.matches) == expected[matches] &&
         nlohmann::json(score.totals) == expected["totals"];
}

TEST_CASE("13a separates symbols but keeps numbers and apostrophes whole") {
  CHECK(tokenize_13a("It's 3,000.5, isn't it?") ==
        Tokens{"It's", "3,000.5", ",", "isn't", "it", "?"});
  CHECK(tokenize_13a("10-20 e-mail &quot;x&quot;") ==
        Tokens{"10", "-", "20", "e-mail", "\"", "x", "\""});
  CHECK(tokenize_13a("hyphen-\nated<skipped> line \n").size() == 2);
  CHECK(tokenize_13a("").empty());
}

TEST_CASE("bleu equals sacrebleu on chosen pairs and corpora") {
  const nlohmann::json data = test::reference_json("bleu.json");
  for (const auto& row : data["sentences"]) {
    const BleuScore score =
        sentence_bleu(row["hypothesis"].get<std::string>(), row["reference"].get<std::string>());
    CAPTURE(row.dump());
    CHECK(score.score == doctest::Approx(row["score"].get<double>()).epsilon(1e-12));
    CHECK(same_counts(score, row, "counts"));
    CHECK(score.brevity_penalty == doctest::Approx(row["brevity_penalty"].get<double>()));
    CHECK(nlohmann::json(score.precisions) == row["precisions"]);
  }
  for (const auto& row : data["corpora"]) {
    BleuCounts counts;
    for (const size_t i : row["pairs"].get<std::vector<size_t>>()) {
      counts.add(data["sentences"][i]["hypothesis"].get<std::string>(),
                 data["sentences"][i]["reference"].get<std::string>());
    }
    CHECK(counts.score().score == doctest::Approx(row["score"].get<double>()).epsilon(1e-12));
    CHECK(same_counts(counts.score(), row, "counts"));
  }
}

TEST_CASE("bleu equals sacrebleu on many random pairs and corpora") {
  const nlohmann::json data = test::random_texts()["bleu"];
  size_t wrong = 0;
  std::vector<std::string> hypotheses, references;
  for (const auto& row : data["sentences"]) {
    hypotheses.push_back(row["hypothesis"]);
    references.push_back(row["reference"]);
    const BleuScore score = sentence_bleu(hypotheses.back(), references.back());
    const bool same = std::abs(score.score - row["score"].get<double>()) < 1e-9 &&
                      same_counts(score, row, "matches");
    wrong += same ? 0 : 1;
    CHECK_MESSAGE(same, row.dump());
  }
  for (const auto& row : data["corpora"]) {
    BleuCounts counts;
    for (size_t i = row["first"]; i < row["first"].get<size_t>() + row["count"].get<size_t>();
         ++i) {
      counts.add(hypotheses[i], references[i]);
    }
    CHECK(std::abs(counts.score().score - row["score"].get<double>()) < 1e-9);
  }
  MESSAGE(wrong << " of " << hypotheses.size() << " pairs differ from sacrebleu");
}

TEST_CASE("a corpus without long n-grams scores zero while its sentences do not") {
  BleuCounts counts;
  counts.add("one two", "one two");
  CHECK(counts.score().score == 0);
  CHECK(sentence_bleu("one two", "one two").score == doctest::Approx(100));
}

}  // namespace
}  // namespace s2s
