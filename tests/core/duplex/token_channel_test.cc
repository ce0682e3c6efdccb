#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "common/places.h"
#include "core/duplex/table_tokenizer.h"
#include "s2s/data/duplex_data.h"

namespace {

using s2s::FrameGrid;
using s2s::Supervision;
using s2s::TokenChannelCounts;
using s2s::test::TableTokenizer;

Supervision turn(const std::string& speaker, double start_s, double duration_s,
                 const std::string& text) {
  Supervision made;
  made.id = speaker + "-turn";
  made.speaker = speaker;
  made.start_s = start_s;
  made.duration_s = duration_s;
  made.text = text;
  return made;
}

std::vector<int64_t> channel(const std::vector<Supervision>& turns, double duration_s,
                             TokenChannelCounts* counts = nullptr) {
  return build_token_channel(turns, {"agent"}, {duration_s, 0.08, 16000}, TableTokenizer(), counts);
}

}  // namespace

TEST_CASE("token channels equal NeMo's on its reference cuts, frame for frame") {
  std::ifstream file(s2s::test::source_dir() + "/tests/reference/data/token_channels.json");
  const auto golden = nlohmann::json::parse(file);
  const TableTokenizer tokenizer(golden["table"]);
  for (const auto& cut : golden["cuts"]) {
    CAPTURE(cut.dump());
    std::vector<Supervision> turns;
    for (const auto& t : cut["turns"]) {
      turns.push_back(turn(t["speaker"], t["start"], t["duration"], t["text"]));
    }
    const FrameGrid grid{cut["duration"], golden["frame_length"], cut["sampling_rate"]};
    CHECK(build_token_channel(turns, golden["output_roles"], grid, tokenizer) ==
          cut["output_tokens"].get<std::vector<int64_t>>());
    CHECK(build_token_channel(turns, golden["input_roles"], grid, tokenizer) ==
          cut["input_tokens"].get<std::vector<int64_t>>());
  }
  CHECK(golden["cuts"].size() > 50);
}

// tests/reference/moshi_monologue.py, moshi-finetune.
TEST_CASE("Moshi's channel has its words where moshi-finetune writes them, and marks before them") {
  std::ifstream file(s2s::test::source_dir() + "/tests/reference/data/moshi_monologue.json");
  const auto golden = nlohmann::json::parse(file);
  const TableTokenizer tokenizer(golden["table"]);
  TokenChannelCounts counts;
  for (const auto& row : golden["cases"]) {
    CAPTURE(row.dump());
    std::vector<Supervision> turns;
    for (const auto& word : row["words"]) {
      const double start_s = word[1][0];
      Supervision spoken = turn(word[2], start_s, word[1][1].get<double>() - start_s, word[0]);
      spoken.alignment = {{"word", {{word[0], start_s, spoken.duration_s}}}};
      turns.push_back(spoken);
    }
    const FrameGrid grid{row["duration"], golden["frame_length"], 16000};
    CHECK(build_monologue_channel(turns, {"SPEAKER_MAIN"}, grid,
                                  golden["end_of_padding"].get<int64_t>(), tokenizer,
                                  &counts) == row["tokens"].get<std::vector<int64_t>>());
  }
  CHECK(golden["cases"].size() == 60);
  CHECK(counts.dropped_tokens > 10);
  CHECK(counts.truncated_tokens > 10);
  CHECK(counts.overwritten_tokens == 0);
}

// reference/nemo_speechlm2.md 2.2: TinyLlama's ids, 1 s at 16 kHz.
TEST_CASE("the golden vector of four short turns comes out with its lost token and open turn") {
  const TableTokenizer tokenizer(
      {{"hi", {7251}}, {"hello", {22172}}, {"ok", {3431}}, {"okay", {20759}}});
  const std::vector<Supervision> turns{
      turn("user", 0, 0.1, "hi"), turn("assistant", 0.3, 0.1, "hello"),
      turn("user", 0.5, 0.1, "ok"), turn("assistant", 0.6, 0.4, "okay")};
  const FrameGrid grid{1.0, 0.08, 16000};
  TokenChannelCounts agent;
  TokenChannelCounts user;
  CHECK(build_token_channel(turns, {"assistant"}, grid, tokenizer, &agent) ==
        std::vector<int64_t>{0, 0, 0, 0, 1, 2, 0, 0, 1, 20759, 0, 0, 0});
  CHECK(build_token_channel(turns, {"user"}, grid, tokenizer, &user) ==
        std::vector<int64_t>{1, 2, 0, 0, 0, 0, 1, 3431, 2, 0, 0, 0, 0});
  CHECK(agent.turns == 2);
  CHECK(agent.overwritten_tokens == 1);
  CHECK(agent.long_turns == 1);
  CHECK(agent.open_turns == 1);
  CHECK(user.overwritten_tokens == 1);
}

TEST_CASE("text beyond the end of a cut is cut off and counted") {
  TokenChannelCounts counts;
  CHECK(channel({turn("agent", 0.16, 0.3, "aaa aaa aaa")}, 0.32, &counts).size() == 4);
  CHECK(counts.truncated_tokens == 2);
  CHECK(counts.open_turns == 1);
}

TEST_CASE("a turn that begins beyond the end is skipped, one that begins at the end loses all") {
  TokenChannelCounts counts;
  const std::vector<int64_t> silence(4, 0);
  CHECK(channel({turn("agent", 0.4, 0.1, "aaa")}, 0.32, &counts) == silence);
  CHECK(counts.skipped_turns == 1);
  CHECK(channel({turn("agent", 0.32, 0.1, "aaa")}, 0.32, &counts) == silence);
  CHECK(counts.skipped_turns == 1);
  CHECK(counts.truncated_tokens == 2);
}

TEST_CASE("text that runs into the next turn is overwritten there") {
  TokenChannelCounts counts;
  const auto tokens =
      channel({turn("agent", 0, 0.16, "a a a a"), turn("agent", 0.24, 0.16, "b")}, 0.8, &counts);
  CHECK(tokens[2] == 2);
  CHECK(tokens[3] == 1);
  CHECK(tokens[5] == 2);
  CHECK(counts.overwritten_tokens == 3);
  CHECK(counts.long_turns == 1);
}

TEST_CASE("text that does not fit its turn can be dropped, and its end stays its end") {
  TokenChannelCounts counts;
  const std::vector<Supervision> turns = {turn("agent", 0, 0.24, "a a a a")};
  const FrameGrid grid{0.8, 0.08, 16000};
  const TableTokenizer tokenizer;
  const auto kept = build_token_channel(turns, {"agent"}, grid, tokenizer);
  const auto dropped =
      build_token_channel(turns, {"agent"}, grid, tokenizer, &counts, s2s::LongText::kDrop);
  CHECK(kept[3] == 2);
  CHECK(kept[4] != 0);
  CHECK(std::vector<int64_t>(dropped.begin(), dropped.begin() + 3) ==
        std::vector<int64_t>(kept.begin(), kept.begin() + 3));
  CHECK(std::vector<int64_t>(dropped.begin() + 3, dropped.end()) ==
        std::vector<int64_t>{2, 0, 0, 0, 0, 0, 0});
  CHECK(counts.dropped_tokens == 2);
  CHECK(counts.overwritten_tokens == 0);
  CHECK(counts.long_turns == 1);
}

TEST_CASE("time marks and surplus white space leave the text") {
  CHECK(
      s2s::clean_text("<|0|> Hey <|3|> <|3|> how <|5|> <|7|> are <|8|> <|8|> <|10|> you? <|12|>") ==
      "Hey how are you?");
  CHECK(s2s::clean_text(" a\t\n b\xc2\xa0\xe2\x80\x83"
                        "c \xe3\x80\x80") == "a b c");
  CHECK(s2s::clean_text("<|a|> <||> <|1 <|1|x") == "<|a|> <||> <|1 <|1|x");
  CHECK(s2s::clean_text("gr\xc3\xbc\xc3\x9f \xe4\xbd\xa0") == "gr\xc3\xbc\xc3\x9f \xe4\xbd\xa0");
  CHECK(s2s::clean_text("x<|1|>y") == "xy");
}

TEST_CASE("the word channel writes each word after its end, and words wait for one another") {
  Supervision spoken = turn("user", 0, 1, "two three");
  spoken.alignment = {{"word", {{"two", 0.0, 0.16}, {"three", 0.16, 0.08}}}};
  const TableTokenizer tokenizer({{"two", {20, 21}}, {"three", {30, 31, 32}}});
  TokenChannelCounts counts;
  CHECK(build_word_channel({spoken}, {"user"}, {0.8, 0.08, 16000}, 1, tokenizer, &counts) ==
        std::vector<int64_t>{0, 0, 0, 20, 21, 30, 31, 32, 0, 0});
  CHECK(counts.truncated_tokens == 0);
  CHECK(build_word_channel({spoken}, {"user"}, {0.48, 0.08, 16000}, 0, tokenizer, &counts) ==
        std::vector<int64_t>{0, 0, 20, 21, 30, 31});
  CHECK(counts.truncated_tokens == 1);
  CHECK(build_word_channel({spoken}, {"agent"}, {0.16, 0.08, 16000}, 1, tokenizer) ==
        std::vector<int64_t>{0, 0});
}

TEST_CASE("the spoken channel writes each word ahead of its start, never before its turn") {
  Supervision spoken = turn("agent", 0.16, 0.64, "two three");
  spoken.alignment = {{"word", {{"two", 0.16, 0.16}, {"three", 0.56, 0.16}}}};
  const TableTokenizer tokenizer({{"two", {20, 21}}, {"three", {30}}, {"two three", {7, 8}}});
  const FrameGrid grid{0.96, 0.08, 16000};
  CHECK(build_spoken_channel({spoken}, {"agent"}, grid, 2, tokenizer) ==
        std::vector<int64_t>{0, 0, 1, 20, 21, 30, 0, 0, 0, 0, 2, 0});
  CHECK(build_spoken_channel({spoken}, {"agent"}, grid, 0, tokenizer) ==
        std::vector<int64_t>{0, 0, 1, 20, 21, 0, 0, 30, 0, 0, 2, 0});
  spoken.alignment.clear();
  CHECK(build_spoken_channel({spoken}, {"agent"}, grid, 2, tokenizer) ==
        build_token_channel({spoken}, {"agent"}, grid, tokenizer));
}
