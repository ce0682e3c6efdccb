#include <ATen/Functions.h>
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "plugins/data_cuts/small_set.h"

namespace {

using s2s::Batch;
using s2s::Config;
using s2s::test::Ids;
using s2s::test::SmallSet;
using s2s::test::take;

void check_contains(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK_MESSAGE(text.find(part) != std::string::npos, "expected: ", part);
}

}  // namespace

TEST_CASE("without shuffling, batches follow the manifest, and a finite source ends") {
  SmallSet set;
  set.set("repeat", "false");
  const auto source = set.open();
  const Ids expected{{"c0", "c1", "c2"}, {"c3", "c4", "c5"}, {"c6", "c7", "c8"}, {"c9"}};
  CHECK(take(*source, 9) == expected);
  CHECK_FALSE(source->next());
  const std::string end = source->state();
  source->restore("");
  CHECK(take(*source, 9) == expected);
  source->restore("");
  source->restore(end);
  CHECK_FALSE(source->next());
  CHECK(source->texts().size() == 10);
}

TEST_CASE("a batch holds the audio and tokens of its cuts") {
  SmallSet set;
  const auto batch = set.open()->next();
  REQUIRE(batch);
  CHECK(batch->source_audio_BS.sizes() == at::IntArrayRef{3, 9600});
  CHECK(batch->target_audio_BS.sizes() == at::IntArrayRef{3, 13230});
  CHECK(batch->target_tokens_BT.sizes() == at::IntArrayRef{3, 8});
  CHECK(batch->target_texts[2] == "hello you");
}

TEST_CASE("a shuffled epoch holds every cut once, and epochs and seeds differ") {
  SmallSet set;
  set.set("shuffle", "true");
  const auto source = set.open();
  const Ids first = take(*source, 4);
  const Ids second = take(*source, 4);
  std::set<std::string> seen;
  for (const auto& batch : first) seen.insert(batch.begin(), batch.end());
  CHECK(seen.size() == 10);
  CHECK(first != second);
  CHECK(take(*set.open(), 4) == first);
  set.set("seed", "6");
  CHECK(take(*set.open(), 4) != first);
}

TEST_CASE("restoring a state gives the same batches, with and without threads, across epochs") {
  SmallSet set;
  set.set("shuffle", "true");
  const Ids all = take(*set.open(), 14);
  for (const char* workers : {"0", "1", "3"}) {
    CAPTURE(workers);
    set.set("num_workers", workers);
    const auto source = set.open();
    CHECK(take(*source, 6) == Ids(all.begin(), all.begin() + 6));
    const std::string state = source->state();
    CHECK(state.size() < 100);
    CHECK(take(*source, 5) == Ids(all.begin() + 6, all.begin() + 11));
    source->restore(state);
    CHECK(take(*source, 5) == Ids(all.begin() + 6, all.begin() + 11));
    const auto resumed = set.open();
    resumed->restore(state);
    CHECK(take(*resumed, 8) == Ids(all.begin() + 6, all.end()));
  }
}

TEST_CASE("data ranks share one order of batches and one state") {
  SmallSet set;
  set.set("shuffle", "true");
  const Ids all = take(*set.open(), 24);
  set.set("num_workers", "2");
  set.context.data_size = 3;
  std::vector<std::string> states;
  for (int rank = 0; rank < 3; ++rank) {
    set.context.data_rank = rank;
    const auto source = set.open();
    for (int step = 0; step < 5; ++step) {
      CHECK(take(*source, 1)[0] == all[static_cast<size_t>(3 * step + rank)]);
    }
    states.push_back(source->state());
  }
  CHECK(states[0] == states[1]);
  CHECK(states[0] == states[2]);
  set.context.data_size = 2;
  for (int rank = 0; rank < 2; ++rank) {
    set.context.data_rank = rank;
    const auto source = set.open();
    source->restore(states[0]);
    CHECK(take(*source, 1)[0] == all[static_cast<size_t>(15 + rank)]);
  }
}

TEST_CASE("ranks of a finite source see every batch once between them") {
  SmallSet set;
  set.set("repeat", "false");
  set.context.data_size = 3;
  size_t num_batches = 0;
  for (const char* workers : {"0", "2"}) {
    set.set("num_workers", workers);
    for (int rank = 0; rank < 3; ++rank) {
      set.context.data_rank = rank;
      const auto source = set.open();
      num_batches += take(*source, 9).size();
      CHECK_FALSE(source->next());
    }
  }
  CHECK(num_batches == 8);
}

TEST_CASE("batch_duration closes a batch before count times longest exceeds it") {
  SmallSet set;
  set.set("batch_duration", "2.05");
  set.set("batch_size", "100");
  set.set("repeat", "false");
  const Ids expected{{"c0", "c1", "c2"}, {"c3", "c4"}, {"c5", "c6"}, {"c7"}, {"c8"}, {"c9"}};
  CHECK(take(*set.open(), 9) == expected);
}

TEST_CASE("drop_last leaves out a batch that is not full; limits and durations choose cuts") {
  SmallSet set;
  set.set("repeat", "false");
  set.set("drop_last", "true");
  CHECK(take(*set.open(), 9).size() == 3);
  set.set("limit", "7");
  CHECK(take(*set.open(), 9).size() == 2);
  set.set("drop_last", "false");
  set.set("min_duration", "0.65");
  set.set("max_duration", "0.95");
  CHECK(take(*set.open(), 9) == Ids{{"c3", "c4", "c5"}});
  set.set("max_duration", "0.66");
  check_contains(set.failure(), "[data/empty]");
  set.set("max_duration", "9");
  set.set("drop_last", "true");
  set.set("batch_size", "8");
  check_contains(set.failure(), "[data/empty]");
}

TEST_CASE("concatenation packs every cut once into sequences of whole frames") {
  SmallSet set;
  set.set("repeat", "false");
  set.set("shuffle", "true");
  set.set("batch_size", "1");
  set.options["concatenate"]["max_duration"] = Config::scalar("3.0");
  set.options["concatenate"]["gap"] = Config::scalar("0.16");
  set.options["concatenate"]["max_gap"] = Config::scalar("0.4");
  const auto source = set.open();
  size_t num_turns = 0;
  int num_rows = 0;
  while (const auto batch = source->next()) {
    ++num_rows;
    const int64_t frames = batch->target_tokens_BT.size(1);
    CHECK(frames <= 37);
    CHECK(batch->source_audio_BS.size(1) == frames * 1280);
    CHECK(batch->target_audio_BS.size(1) == frames * 1764);
    num_turns += batch->turns[0].size();
    for (size_t i = 1; i < batch->turns[0].size(); ++i) {
      CHECK(batch->turns[0][i].start_s >= batch->turns[0][i - 1].end_s);
    }
  }
  CHECK(num_turns == 20);
  CHECK(num_rows < 6);
  set.options["concatenate"]["max_duration"] = Config::scalar("0.01");
  check_contains(set.failure(), "[data/concatenate]");
}

TEST_CASE("cached audio is the same audio") {
  SmallSet set;
  set.set("repeat", "false");
  const auto plain = set.open();
  set.set("cache_audio", "true");
  set.set("num_workers", "2");
  const auto cached = set.open();
  for (int pass = 0; pass < 2; ++pass) {
    while (const auto expected = plain->next()) {
      const auto batch = cached->next();
      REQUIRE(batch);
      CHECK(at::equal(batch->source_audio_BS, expected->source_audio_BS));
      CHECK(at::equal(batch->target_audio_BS, expected->target_audio_BS));
    }
    plain->restore("");
    cached->restore("");
  }
}

TEST_CASE("bad audio stops the source with its message, from a thread too") {
  SmallSet set;
  s2s::test::write_text(set.dir / "u.wav", "gone");
  for (const char* workers : {"0", "2"}) {
    set.set("num_workers", workers);
    const auto source = set.open();
    CHECK_THROWS_WITH_AS(source->next(), doctest::Contains("[data/unreadable-audio]"), s2s::Error);
  }
  std::filesystem::remove(set.dir / "u.wav");
  check_contains(set.failure(), "[data/missing-file]");
}

TEST_CASE("text that does not fit its turn is a warning with the count") {
  SmallSet set;
  set.options["limit"] = Config::scalar("1");
  set.open();
  REQUIRE(set.warnings.size() == 2);
  check_contains(set.warnings[0], "1 of 1 agent turns have more text than frames, the first in");
  check_contains(set.warnings[0], "1 tokens are overwritten");
  check_contains(set.warnings[1], "[data/text-cut-off]");
  check_contains(set.warnings[1], "1 tokens are cut off, 0 turns skipped");
}

TEST_CASE("a repeated id is a warning with both places") {
  SmallSet set;
  auto cut = s2s::test::cut_json("c0", 0.4, "u.wav", "a.wav");
  cut["recording"]["duration"] = cut["custom"]["target_audio"]["duration"] = 1.5;
  std::ofstream(set.dir / "cuts.jsonl", std::ios::app) << cut.dump() << "\n";
  set.open();
  REQUIRE(set.warnings.size() >= 1);
  check_contains(set.warnings.back(),
                 "[data/duplicate-id] data.train_ds: 1 of the first cuts have");
  check_contains(set.warnings.back(), "cuts.jsonl:11: cut 'c0', already used at");
  check_contains(set.warnings.back(), "cuts.jsonl:1: cut 'c0'; expected");
}

TEST_CASE("a cut that would fill the memory is a bad cut") {
  SmallSet set;
  set.set("longest_cut", "1.25");
  check_contains(set.failure(), "[data/too-long]");
  check_contains(set.failure(), "cuts.jsonl:10: cut 'c9' lasts 1.3 s; expected at most 1.25");
  set.set("skip_bad", "1");
  set.set("repeat", "false");
  for (const char* workers : {"0", "2"}) {
    set.set("num_workers", workers);
    const auto source = set.open();
    const Ids ids = take(*source, 9);
    CHECK(ids == Ids{{"c0", "c1", "c2"}, {"c3", "c4", "c5"}, {"c6", "c7", "c8"}});
  }
}

TEST_CASE("options that do not make sense have their messages") {
  SmallSet set;
  set.options.erase("batch_size");
  check_contains(set.failure(), "[data/batch-size]");
  set.set("batch_size", "3");
  set.options.erase("cuts_path");
  check_contains(set.failure(), "[data/cuts-path]");
  set.set("cuts_path", "cuts.jsonl");
  set.set("batchsize", "3");
  check_contains(set.failure(), "[config/unknown-key]");
  set.options.erase("batchsize");
  set.context.tokenizer = nullptr;
  check_contains(set.failure(), "[data/no-tokenizer]");
}

TEST_CASE("a state of other data is [data/state], unless changed data is allowed") {
  SmallSet set;
  const auto source = set.open();
  take(*source, 5);
  const std::string state = source->state();
  CHECK_THROWS_WITH_AS(source->restore("{}"), doctest::Contains("[data/state]"), s2s::Error);
  CHECK_THROWS_WITH_AS(source->restore("old"), doctest::Contains("[data/state]"), s2s::Error);
  set.set("limit", "8");
  CHECK_THROWS_WITH_AS(set.open()->restore(state), doctest::Contains("[data/state]"), s2s::Error);
  set.set("allow_changed_data", "true");
  const auto changed = set.open();
  changed->restore(state);
  CHECK(nlohmann::json::parse(changed->state())["epoch"] == 1);
  CHECK(take(*changed, 1)[0][0] == "c0");
}

TEST_CASE("the roles and rates of the data block are used") {
  SmallSet set;
  Config data = Config::map();
  data["frame_length"] = Config::scalar("0.1");
  data["target_sample_rate"] = Config::scalar("16000");
  data["train_ds"] = Config::map();
  set.context.data = &data;
  const auto batch = set.open()->next();
  CHECK(batch->target_audio_BS.size(1) == 9600);
  CHECK(batch->target_tokens_BT.size(1) == 6);
  data["output_roles"] = Config::list({Config::scalar("nobody")});
  data["input_roles"] = Config::list({Config::scalar("nobody")});
  check_contains(set.failure(), "[data/no-turns]");
  set.set("allow_no_turns", "true");
  CHECK(set.failure().empty());
}

TEST_CASE("changed audio of a batch depends on its number, not on threads, ranks or a restart") {
  SmallSet set;
  set.set("shuffle", "true");
  std::filesystem::create_directories(set.dir.path() / "noise" / "street");
  s2s::test::write_audio(set.dir / "noise/street/n.wav", 16000, s2s::test::ramp(9000, 1, 7));
  Config data = Config::map();
  for (const auto& [key, value] : {std::pair{"agent_audio", "false"},
                                   {"use_noise_aug", "true"},
                                   {"noise_aug_path", "noise"},
                                   {"noise_prob", "1"}}) {
    data[key] = Config::scalar(value);
  }
  const auto audio = [](s2s::DataSource& source, int count) {
    std::vector<at::Tensor> all;
    for (int i = 0; i < count; ++i) all.push_back(source.next()->source_audio_BS.clone());
    return all;
  };
  const at::Tensor plain = audio(*set.open(), 1).front();
  set.context.data = &data;
  const std::vector<at::Tensor> expected = audio(*set.open(), 9);
  CHECK(expected[0].sizes() == plain.sizes());
  CHECK_FALSE(expected[0].equal(plain));
  set.set("num_workers", "3");
  const auto source = set.open();
  audio(*source, 5);
  const std::string state = source->state();
  for (const bool is_restarted : {false, true}) {
    const auto resumed = is_restarted ? set.open() : nullptr;
    if (resumed) resumed->restore(state);
    const auto rest = audio(resumed ? *resumed : *source, 4);
    for (size_t i = 0; i < rest.size(); ++i) CHECK(rest[i].equal(expected[5 + i]));
  }
  set.context.data_size = 2;
  set.context.data_rank = 1;
  CHECK(audio(*set.open(), 2)[1].equal(expected[3]));
  // One pass is a validation.
  set.context.data_size = 1;
  set.context.data_rank = 0;
  set.set("repeat", "false");
  const at::Tensor validated = audio(*set.open(), 1).front();
  set.context.data = nullptr;
  CHECK(validated.equal(audio(*set.open(), 1).front()));
}
