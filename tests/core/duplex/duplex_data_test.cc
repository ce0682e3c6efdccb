#include "s2s/data/duplex_data.h"

#include <ATen/Functions.h>
#include <doctest/doctest.h>

#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"
#include "core/duplex/table_tokenizer.h"
#include "cuts/cut_files.h"

namespace {

using s2s::test::cut_json;
using s2s::test::ramp;
using s2s::test::TableTokenizer;
using s2s::test::TemporaryFolder;
using s2s::test::write_audio;

/// Two cuts, 1.0 s and 0.6 s, with audio files.
struct SmallSet {
  SmallSet() {
    write_audio(dir / "u.wav", 16000, ramp(16000));
    write_audio(dir / "a.wav", 22050, ramp(22050, 1, 7));
    std::string lines = cut_json("one", 1.0, "u.wav", "a.wav").dump() + "\n";
    auto second = cut_json("two", 0.6, "u.wav", "a.wav");
    second["recording"]["duration"] = second["custom"]["target_audio"]["duration"] = 1.0;
    lines += second.dump() + "\n";
    s2s::test::write_text(dir / "cuts.jsonl", lines);
    cuts = s2s::read_cuts({dir / "cuts.jsonl"}).cuts;
  }
  TemporaryFolder dir;
  std::vector<s2s::Cut> cuts;
  TableTokenizer tokenizer;
  s2s::AudioLoader loader;
};

std::string failure(const std::vector<s2s::Cut>& cuts, const s2s::DuplexDataOptions& options = {},
                    bool allow_no_turns = false, bool check_files = false) {
  s2s::Findings findings;
  check_duplex_cuts(cuts, options, allow_no_turns, check_files, findings);
  return findings.empty() ? "" : findings.errors().front().what();
}

std::vector<int64_t> row(const at::Tensor& tokens_BT, int64_t b) {
  const at::Tensor values = tokens_BT[b].contiguous();
  return {values.const_data_ptr<int64_t>(), values.const_data_ptr<int64_t>() + values.numel()};
}

}  // namespace

TEST_CASE("a batch is padded on the right, and its lengths are those of the cuts") {
  SmallSet set;
  const auto batch = make_batch({{{{&set.cuts[0], 0}}, 0}, {{{&set.cuts[1], 0}}, 0}}, {},
                                set.tokenizer, set.loader);
  CHECK(batch.size() == 2);
  CHECK(batch.ids == std::vector<std::string>{"one", "two"});
  CHECK(row(batch.source_audio_lens_B.unsqueeze(0), 0) == std::vector<int64_t>{16000, 9600});
  CHECK(row(batch.target_audio_lens_B.unsqueeze(0), 0) == std::vector<int64_t>{22050, 13230});
  CHECK(row(batch.target_token_lens_B.unsqueeze(0), 0) == std::vector<int64_t>{13, 8});
  CHECK(at::equal(batch.source_audio_BS[0], set.loader.source(set.cuts[0], 16000)));
  CHECK(at::equal(batch.source_audio_BS[1].narrow(0, 0, 9600),
                  batch.source_audio_BS[0].narrow(0, 0, 9600)));
  CHECK(batch.source_audio_BS[1].narrow(0, 9600, 6400).abs().max().item<float>() == 0);
  CHECK(batch.target_tokens_BT.sizes() == at::IntArrayRef{2, 13});
  CHECK(row(batch.target_tokens_BT, 1)[8] == 0);
  CHECK(batch.target_texts[0] == "hello you");
  REQUIRE(batch.turns[1].size() == 2);
  CHECK(batch.turns[1][1].is_agent);
  CHECK(batch.turns[1][1].start_s == doctest::Approx(0.3));
}

TEST_CASE("cuts that are joined keep their audio and text, moved by whole frames") {
  SmallSet set;
  const s2s::CutSequence joined{{{&set.cuts[0], 0}, {&set.cuts[1], 15}}, 23};
  const auto batch = make_batch({joined}, {}, set.tokenizer, set.loader);
  CHECK(batch.ids[0] == "one@0+two@15");
  CHECK(batch.source_audio_BS.size(1) == 23 * 1280);
  CHECK(batch.target_audio_BS.size(1) == 23 * 1764);
  CHECK(at::equal(batch.source_audio_BS[0].narrow(0, 0, 16000),
                  set.loader.source(set.cuts[0], 16000)));
  CHECK(batch.source_audio_BS[0].narrow(0, 16000, 3200).abs().max().item<float>() == 0);
  CHECK(at::equal(batch.target_audio_BS[0].narrow(0, 15 * 1764, 13230),
                  set.loader.target(set.cuts[1], 22050)));
  const auto alone = make_batch({{{{&set.cuts[1], 0}}, 0}}, {}, set.tokenizer, set.loader);
  const auto tokens = row(batch.target_tokens_BT, 0);
  CHECK(std::vector<int64_t>(tokens.begin() + 15, tokens.end()) == row(alone.target_tokens_BT, 0));
  CHECK(batch.target_texts[0] == "hello you hello you");
  CHECK(batch.turns[0][3].start_s == doctest::Approx(15 * 0.08 + 0.3));
}

TEST_CASE("frames are counted at the recording's rate unless another one is given") {
  SmallSet set;
  // 0.0399 s is 639 samples at 8 kHz hop 640: the half frame is missed at 16 kHz, met at 100 Hz.
  set.cuts[0].duration_s = 0.9598;
  const std::vector<s2s::CutSequence> rows{{{{&set.cuts[0], 0}}, 0}};
  const auto at_own = make_sequence_text(rows[0], {}, set.tokenizer);
  const auto at_100 = make_sequence_text(rows[0], {{}, 100}, set.tokenizer);
  CHECK(at_own.target_tokens.size() == 12);
  CHECK(at_100.target_tokens.size() == 12);
  set.cuts[0].duration_s = 0.9999;
  CHECK(make_sequence_text(rows[0], {}, set.tokenizer).target_tokens.size() == 12);
  CHECK(make_sequence_text(rows[0], {{}, 100}, set.tokenizer).target_tokens.size() == 13);
}

TEST_CASE("user_text word_end fills the user's channel from the alignment") {
  SmallSet set;
  s2s::BatchSpec spec;
  spec.data.user_text = "word_end";
  set.cuts[0].supervisions[0].alignment = {{"word", {{"hi", 0, 0.08}, {"there", 0.08, 0.16}}}};
  const auto text = make_sequence_text({{{&set.cuts[0], 0}}, 0}, spec, set.tokenizer);
  CHECK(text.source_tokens[2] == set.tokenizer.encode("hi")[0]);
  CHECK(text.source_tokens[4] == set.tokenizer.encode("there")[0]);
  CHECK(text.source_counts.turns == 1);
}

TEST_CASE("cuts that do not suit a duplex model have their own messages") {
  SmallSet set;
  CHECK(failure(set.cuts, {}, false, true).empty());
  auto cuts = set.cuts;
  cuts[1].recording.reset();
  CHECK(failure(cuts).find("[data/no-recording]") != std::string::npos);
  cuts = set.cuts;
  cuts[1].erase_custom("target_audio");
  CHECK(failure(cuts).find("[data/no-target]") != std::string::npos);
  cuts = set.cuts;
  cuts[0].supervisions[1].start_s = -0.5;
  CHECK(failure(cuts).find("it begins before the cut") != std::string::npos);
  cuts = set.cuts;
  cuts[0].supervisions[1].text.reset();
  CHECK(failure(cuts).find("[data/no-text]") != std::string::npos);
  cuts = set.cuts;
  s2s::Recording gone = *cuts[0].find_recording("target_audio");
  gone.sources[0].source += ".gone";
  cuts[0].set_custom("target_audio", gone);
  CHECK(failure(cuts).empty());
  CHECK(failure(cuts, {}, false, true).find("[data/missing-file]") != std::string::npos);
  s2s::DuplexDataOptions by_word;
  by_word.user_text = "word_end";
  CHECK(failure(set.cuts, by_word).find("[data/no-alignment]") != std::string::npos);
}

TEST_CASE("a cut without turns of either role is [data/no-turns] and says who speaks") {
  SmallSet set;
  s2s::DuplexDataOptions options;
  options.input_roles = {"User"};
  options.output_roles = {"Assistant"};
  const std::string message = failure(set.cuts, options);
  CHECK(message.find("[data/no-turns]") != std::string::npos);
  CHECK(message.find("its speakers are: 'user', 'agent'") != std::string::npos);
  CHECK(failure(set.cuts, options, true).empty());
  set.cuts[0].supervisions.clear();
  CHECK(failure(set.cuts).find("(none)") != std::string::npos);
}
