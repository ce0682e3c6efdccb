#include <ATen/Functions.h>
#include <doctest/doctest.h>

#include <algorithm>

#include "plugins/data_cuts/small_set.h"

namespace {

using s2s::Batch;
using s2s::Config;
using s2s::DataSource;
using s2s::test::Ids;
using s2s::test::SmallSet;
using s2s::test::take;

/// Ten cuts in batches of three, and seven lines of text in batches of two.
struct MixedSet {
  explicit MixedSet(const std::string& fusion) {
    std::string lines;
    for (int i = 0; i < 7; ++i) {
      lines += "{\"text\": \"hello you " + std::string(static_cast<size_t>(i + 1), 'a') + "\"}\n";
    }
    set.dir.write("text.jsonl", lines);
    set.set("shuffle", "true");
    text["name"] = Config::scalar("text");
    text["path"] = Config::scalar("text.jsonl");
    text["batch_size"] = Config::scalar("2");
    text["shuffle"] = Config::scalar("true");
    options["name"] = Config::scalar("audio_and_text");
    options["sampler_fusion"] = Config::scalar(fusion);
  }
  std::unique_ptr<DataSource> open(int64_t rank = 0, int64_t size = 1) {
    options["audio"] = set.options;
    options["text"] = text;
    set.context.data_rank = rank;
    set.context.data_size = size;
    return set.plugins.create<DataSource>(options, set.context);
  }
  std::unique_ptr<DataSource> open_part(const Config& part) {
    set.context.data_rank = 0;
    set.context.data_size = 1;
    return set.plugins.create<DataSource>(part, set.context);
  }
  std::string failure() {
    try {
      open();
    } catch (const s2s::Error& error) {
      return error.id();
    }
    return "no error";
  }

  SmallSet set;
  Config text = Config::map();
  Config options = Config::map();
};

bool is_text(const std::vector<std::string>& ids) { return ids.front().starts_with("text.jsonl"); }

}  // namespace

TEST_CASE("zip gives every batch audio and text, each in the order of its own set") {
  MixedSet mixed("zip");
  const auto source = mixed.open();
  const auto audio = mixed.open_part(mixed.set.options), text = mixed.open_part(mixed.text);
  for (int i = 0; i < 9; ++i) {
    CAPTURE(i);
    const auto batch = source->next(), of_audio = audio->next(), of_text = text->next();
    REQUIRE((batch && of_audio && of_text));
    CHECK(batch->ids == of_audio->ids);
    CHECK(batch->source_audio_BS.equal(of_audio->source_audio_BS));
    CHECK(batch->text_BT.equal(of_text->text_BT));
    CHECK(batch->text_labels_BT.equal(of_text->text_labels_BT));
    CHECK(batch->documents.size() == of_text->documents.size());
  }
}

TEST_CASE("round_robin takes turns") {
  MixedSet mixed("round_robin");
  const Ids all = take(*mixed.open(), 12);
  const Ids audio = take(*mixed.open_part(mixed.set.options), 6);
  const Ids text = take(*mixed.open_part(mixed.text), 6);
  for (size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i] == (i % 2 == 0 ? audio : text)[i / 2]);
  }
}

TEST_CASE("randomized_round_robin draws by weight, by the seed") {
  MixedSet mixed("randomized_round_robin");
  mixed.options["sampler_weights"]["text"] = Config::scalar("0.25");
  const auto kinds = [&] {
    std::string letters;
    for (const auto& ids : take(*mixed.open(), 400)) letters += is_text(ids) ? 't' : 'a';
    return letters;
  };
  const std::string first = kinds();
  const auto count = std::count(first.begin(), first.end(), 't');
  CHECK(count > 400 * 0.2 - 35);
  CHECK(count < 400 * 0.2 + 35);
  CHECK(kinds() == first);
  mixed.set.context.seed = 6;
  CHECK(kinds() != first);
}

TEST_CASE("a restored position gives the batches that follow it") {
  for (const char* fusion : {"zip", "round_robin", "randomized_round_robin"}) {
    CAPTURE(fusion);
    MixedSet mixed(fusion);
    const auto source = mixed.open();
    for (int i = 0; i < 7; ++i) source->next();
    const std::string state = source->state();
    std::vector<Batch> expected;
    for (int i = 0; i < 9; ++i) expected.push_back(*source->next());
    const auto check_from = [&](DataSource& resumed) {
      resumed.restore(state);
      for (const Batch& batch : expected) {
        const Batch again = *resumed.next();
        CHECK(again.ids == batch.ids);
        CHECK(again.text_BT.defined() == batch.text_BT.defined());
        if (batch.text_BT.defined()) CHECK(again.text_BT.equal(batch.text_BT));
      }
    };
    check_from(*source);
    check_from(*mixed.open());
    source->restore("");
    CHECK(source->next()->ids == mixed.open()->next()->ids);
  }
}

TEST_CASE("data ranks get batches of one kind in a step, and share the order of one process") {
  MixedSet mixed("randomized_round_robin");
  const auto first = mixed.open(0, 2), second = mixed.open(1, 2);
  Ids audio = take(*mixed.open_part(mixed.set.options), 80), text;
  text = take(*mixed.open_part(mixed.text), 80);
  size_t num_audio = 0, num_text = 0;
  for (int step = 0; step < 30; ++step) {
    CAPTURE(step);
    const Ids one = take(*first, 1), two = take(*second, 1);
    REQUIRE(is_text(one[0]) == is_text(two[0]));
    const Ids& order = is_text(one[0]) ? text : audio;
    size_t& number = is_text(one[0]) ? num_text : num_audio;
    CHECK(one[0] == order[number++]);
    CHECK(two[0] == order[number++]);
    CHECK(first->state() == second->state());
  }
  CHECK(num_audio > 4);
  CHECK(num_text > 4);
}

TEST_CASE("mixed data without one of its parts, or with an end, is refused") {
  MixedSet mixed("zip");
  CHECK(mixed.failure() == "no error");
  const Config text = mixed.text;
  mixed.text = Config::map();
  CHECK(mixed.failure() == "config/missing");
  mixed.text = text;
  mixed.text["repeat"] = Config::scalar("false");
  CHECK(mixed.failure() == "data/mixed-pass");
  mixed.text = text;
  mixed.options["repeat"] = Config::scalar("false");
  CHECK(mixed.failure() == "data/mixed-pass");
  mixed.options["repeat"] = Config::scalar("true");
  mixed.options["sampler_weights"]["text"] = Config::scalar("0");
  CHECK(mixed.failure() == "no error");
  mixed.options["sampler_weights"]["audio"] = Config::scalar("0");
  CHECK(mixed.failure() == "data/mixed-weights");
  mixed.options.erase("sampler_weights");
  for (const char* state : {"{", "[]", "{\"batches\": 3}", "{\"batches\": \"x\"}"}) {
    CAPTURE(state);
    CHECK_THROWS_WITH_AS(mixed.open()->restore(state), doctest::Contains("[data/state]"),
                         s2s::Error);
  }
}
