#include <doctest/doctest.h>

#include "core/eval/text/text_vectors.h"
#include "s2s/scores/texts.h"

namespace s2s {
namespace {

TEST_CASE("the normaliser writes numbers, contractions and titles in one way") {
  const auto normalize = normalize_english;
  CHECK(normalize("Mr. Smith won't pay twenty-five dollars and five cents!") ==
        "mister smith will not pay $25.05");
  CHECK(normalize("one oh one") == "101");
  CHECK(normalize("two and a half million") == "2500000");
  CHECK(normalize("It's   <noise> (laughs) um five percent") == "it is 5%");
  CHECK(normalize("Caf\xC3\xA9 stra\xC3\x9F"
                  "e") == "cafe strasse");
}

TEST_CASE("the normaliser reads numbers of any size") {
  const auto normalize = normalize_english;
  CHECK(normalize("nine hundred decillion") == "9" + std::string(35, '0'));
  CHECK(normalize("123456789012345678901234567890123456789012 thousand") ==
        "123456789012345678901234567890123456801000");
}

TEST_CASE("the normaliser for any language equals Whisper's") {
  CHECK(normalize_basic("Hello,  <noise> W\u00D6RLD! (laughs) don't") == "hello w\u00F6rld don t");
  CHECK(normalize_basic("\uFB01ne Stra\u00DFe \u00BD na\u00EFve\u2014x") ==
        "fine stra\u00DFe 1 2 na\u00EFve x");
  CHECK(normalize_basic(" A.B_c ") == " a b c ");
  CHECK(normalize_basic("e\u0301a\u0327\u20DD") == "\u00E9a ");
}

TEST_CASE("the normaliser survives broken UTF-8") {
  const auto normalize = normalize_english;
  CHECK(normalize("a\xFF b\xC3") == "a b");
  CHECK(normalize("") == "");
}

TEST_CASE("the normaliser equals Whisper's on chosen sentences") {
  const auto normalize = normalize_english;
  const nlohmann::json rows = test::reference_json("english_normalizer.json");
  size_t same = 0;
  for (const auto& row : rows) {
    const std::string ours = normalize(row[0].get<std::string>());
    if (ours == row[1].get<std::string>()) {
      ++same;
    } else {
      MESSAGE(row[0] << " -> ours: " << ours << " | theirs: " << row[1]);
    }
  }
  MESSAGE(same << " of " << rows.size() << " sentences equal");
  CHECK(same == rows.size());
}

TEST_CASE("the normaliser equals Whisper's on many random texts") {
  const auto normalize = normalize_english;
  const nlohmann::json rows = test::random_texts()["normaliser"];
  size_t wrong = 0;
  for (const auto& row : rows) {
    const std::string ours = normalize(row[0].get<std::string>());
    if (ours == row[1].get<std::string>()) continue;
    if (++wrong < 20) MESSAGE(row[0] << " -> ours: " << ours << " | theirs: " << row[1]);
  }
  MESSAGE(wrong << " of " << rows.size() << " texts differ");
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace s2s
