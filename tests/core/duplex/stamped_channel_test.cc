#include <ATen/Functions.h>
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/places.h"
#include "core/duplex/table_tokenizer.h"
#include "s2s/data/duplex_data.h"

namespace {

using namespace s2s;
using Ids = std::vector<int64_t>;

/// As the table says about a text, else word by word.
class WordTable : public test::TableTokenizer {
 public:
  explicit WordTable(std::map<std::string, Ids> table) : table_(std::move(table)) {}
  Ids encode(std::string_view text) const override {
    const auto known = table_.find(std::string(text));
    if (known != table_.end()) return known->second;
    std::istringstream words{std::string(text)};
    Ids ids;
    for (std::string word; words >> word;) {
      const Ids& more = table_.at(word);
      ids.insert(ids.end(), more.begin(), more.end());
    }
    return ids;
  }

 private:
  std::map<std::string, Ids> table_;
};

Supervision said(const std::string& speaker, double start_s, double duration_s,
                 const std::string& text) {
  Supervision made;
  made.id = "turn";
  made.speaker = speaker;
  made.start_s = start_s;
  made.duration_s = duration_s;
  made.text = text;
  return made;
}

Cut cut_of(const std::vector<Supervision>& turns, bool has_agent) {
  Cut cut;
  cut.id = "cut";
  cut.duration_s = 1;
  cut.recording.emplace();
  cut.recording->sample_rate_hz = 16000;
  cut.recording->num_samples = 16000;
  cut.supervisions = turns;
  if (has_agent) cut.set_custom("target_audio", *cut.recording);
  return cut;
}

std::string findings_of(const Cut& cut, const DuplexDataOptions& options) {
  Findings findings;
  check_duplex_cut(cut, options, false, findings);
  std::string ids;
  for (const Error& error : findings.errors()) ids += error.id() + " ";
  return ids;
}

}  // namespace

TEST_CASE("clipped and stamped channels equal those of NeMo's speech-to-text data set") {
  std::ifstream file(test::source_dir() + "/tests/reference/data/nemo_stt_channels.json");
  const auto golden = nlohmann::json::parse(file);
  const WordTable tokenizer(golden["table"]);
  REQUIRE(golden["cuts"].size() > 100);
  for (const auto& cut : golden["cuts"]) {
    CAPTURE(cut.dump());
    std::vector<Supervision> turns;
    for (const auto& t : cut["turns"]) {
      turns.push_back(said(t["speaker"], t["start"], t["duration"], t["text"]));
    }
    const FrameGrid grid{cut["duration"], 0.08, cut["sampling_rate"]};
    const StampedWords words{cut["word_align_position"] == "right", cut["prepend_word_space"]};
    CHECK(build_stamped_channel(turns, {"user"}, grid, words, tokenizer) ==
          cut["tokens"].get<Ids>());
  }
}

TEST_CASE("a clipped channel counts what it leaves out") {
  const test::TableTokenizer tokenizer({{"long", {10, 11, 12, 13}}});
  TokenChannelCounts counts;
  const FrameGrid grid{0.8, 0.08, 16000};
  const Ids channel =
      build_stamped_channel({said("user", 0.08, 0.24, "long"), said("user", 0.64, 0.4, "long"),
                             said("user", 2, 1, "long")},
                            {"user"}, grid, {}, tokenizer, &counts);
  CHECK(channel == Ids{0, 1, 10, 11, 2, 0, 0, 0, 1, 10});
  CHECK(counts.turns == 3);
  CHECK(counts.dropped_tokens == 2);
  CHECK(counts.truncated_tokens == 3);
  CHECK(counts.open_turns == 1);
  CHECK(counts.skipped_turns == 1);
}

TEST_CASE("a row has its cut's prompt and task, and a batch those of all rows") {
  const test::TableTokenizer tokenizer({{"be brief", {10, 11}}});
  Cut with = cut_of({said("user", 0, 0.5, "hi"), said("agent", 0.5, 0.4, "ok")}, false);
  Cut without = with;
  with.set_custom("system_prompt", JsonText{"\"be brief\""});
  with.set_custom("task", JsonText{"\"asr\""});
  BatchSpec spec;
  spec.data.agent_audio = false;
  std::vector<LoadedRow> rows;
  for (const Cut* cut : {&with, &without}) {
    CutSequence sequence;
    sequence.parts.push_back({cut, 0});
    LoadedRow row;
    row.text = make_sequence_text(sequence, spec, tokenizer);
    row.source_S = at::zeros({16000});
    rows.push_back(std::move(row));
  }
  const Batch batch = collate_rows(rows, 0);
  CHECK_FALSE(batch.target_audio_BS.defined());
  CHECK(batch.others.at("prompt_tokens")
            .equal(at::tensor({1, 10, 11, 2, 0, 0, 0, 0}, at::kLong).view({2, 4})));
  CHECK(batch.others.at("prompt_token_lens").equal(at::tensor({4, 0}, at::kLong)));
  CHECK(batch.others.at("task_is_asr").equal(at::tensor({1, 0}, at::kLong)));
  spec.data.add_mcq_val_prompt = true;
  CutSequence sequence;
  sequence.parts.push_back({&without, 0});
  CHECK(make_sequence_text(sequence, spec, tokenizer).prompt_tokens.size() > 10);
  rows.erase(rows.begin());
  CHECK(collate_rows(rows, 0).others.empty());
}

TEST_CASE("cuts without the agent's audio are fine where it is not loaded") {
  const Cut cut = cut_of({said("user", 0, 0.5, "hi")}, false);
  DuplexDataOptions options;
  CHECK(findings_of(cut, options) == "data/no-target ");
  options.agent_audio = false;
  CHECK(findings_of(cut, options).empty());
}

TEST_CASE("time marks that do not fit the words are reported, where they are read") {
  const Cut cut = cut_of({said("user", 0, 0.5, "<|0|> hi <|2|> there")}, true);
  DuplexDataOptions options;
  CHECK(findings_of(cut, options).empty());
  options.user_text = "stamped";
  CHECK(findings_of(cut, options) == "data/time-marks ");
}
