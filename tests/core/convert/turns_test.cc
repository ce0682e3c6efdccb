#include "convert/turns.h"

#include "core/convert/convert_files.h"

using namespace s2s;
using namespace s2s::convert;
using namespace s2s::test;

TEST_CASE("words become turns at pauses, also across the other's words") {
  const auto turns =
      join_turns({spoken_word("b", "fine", 2.0, 2.3), spoken_word("a", "how", 0, 0.2),
                  spoken_word("a", "are", 0.3, 0.4), spoken_word("b", "mm", 0.35, 0.5),
                  spoken_word("a", "you", 0.6, 0.9), spoken_word("a", "so", 1.5, 1.7)},
                 0.5);
  REQUIRE(turns.size() == 4);
  CHECK(turns[0].text == "how are you");
  CHECK(turns[0].start_s == 0);
  CHECK(turns[0].end_s == 0.9);
  REQUIRE(turns[0].words.size() == 3);
  CHECK(turns[0].words[2].text == "you");
  CHECK(turns[1].text == "mm");
  CHECK(turns[2].text == "so");
  CHECK(turns[3].text == "fine");
}

TEST_CASE("words that begin with white space are joined as they are written") {
  const auto turns = join_turns({spoken_word("", " don", 0, 0.2), spoken_word("", "'t", 0.2, 0.3),
                                 spoken_word("", " go", 0.3, 1)},
                                0.5);
  REQUIRE(turns.size() == 1);
  CHECK(turns[0].text == "don't go");
  CHECK(turns[0].words[0].text == "don");
}

TEST_CASE("a pause of zero keeps touching words apart only when there is a pause") {
  const auto turns = join_turns({spoken_word("", "a", 0, 0.5), spoken_word("", "b", 0.5, 1)}, 0);
  CHECK(turns.size() == 2);
}

TEST_CASE("what does not last is left out") {
  CHECK(join_turns({spoken_word("", "a", 1, 1), spoken_word("", "b", 2, 1.5)}, 0.5).empty());
}

TEST_CASE("turns of a cut end with the audio; what comes after it is an error") {
  Cut cut;
  cut.id = "c";
  add_turns({{"user", 0.5, 2.2, "x", {spoken_word("", "x", 0.5, 2.2).words[0]}}}, 2, "en", "f.json",
            cut);
  REQUIRE(cut.supervisions.size() == 1);
  CHECK(cut.supervisions[0].id == "c-0");
  CHECK(cut.supervisions[0].duration_s == 1.5);
  CHECK(cut.supervisions[0].words()[0].duration_s == 1.5);
  CHECK(cut.supervisions[0].language == "en");
  for (const auto& [start_s, end_s] :
       {std::pair(2.0, 2.1), std::pair(1.0, 2.6), std::pair(-1.0, 1.0)}) {
    const std::string message = message_of([&, s = start_s, e = end_s] {
      add_turns({{"user", s, e, "x", {}}}, 2, "", "f.json", cut);
    });
    CHECK(holds(message, "[data/turn-time] f.json"));
  }
}

TEST_CASE("turns are cut where the dialogue ends, with their words") {
  auto turns = join_turns({spoken_word("a", "one", 0, 0.5), spoken_word("a", "two", 0.6, 1.5),
                           spoken_word("a", "three", 1.6, 2), spoken_word("a", "four", 3, 4)},
                          0.5);
  turns = until(std::move(turns), 1);
  REQUIRE(turns.size() == 1);
  CHECK(turns[0].text == "one two");
  CHECK(turns[0].end_s == 1);
}
