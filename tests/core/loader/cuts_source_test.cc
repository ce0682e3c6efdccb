#include "loader/cuts_source.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "core/duplex/table_tokenizer.h"
#include "core/loader/fake_batches.h"
#include "s2s/conformance.h"
#include "s2s/data/duplex_data.h"

namespace {

using s2s::Batch;
using s2s::data::CutsSource;
using s2s::data::CutsSourceOptions;
using s2s::test::FakeAudio;
using s2s::test::FakeBatches;
using s2s::test::FakeSet;

using Ids = std::vector<std::vector<std::string>>;

/// Opens sources over made-up cuts.
struct Sources {
  Sources() {
    context.path = "data.train_ds";
    context.tokenizer = &tokenizer;
    context.warn = [this](const std::string& message) { warnings.push_back(message); };
  }
  std::unique_ptr<CutsSource> open(int64_t rank = 0, int64_t size = 1) {
    context.data_rank = rank;
    context.data_size = size;
    s2s::data::SourceParts parts;
    parts.open = [this](const s2s::data::CutBatchesContext& where) {
      FakeSet made = set;
      made.repeat = where.allow_infinite;
      made.seed += where.seed_shift + (trng ? where.draw_entropy() : 0);
      auto batches = std::make_unique<FakeBatches>(made);
      last = batches.get();
      return batches;
    };
    auto audio = std::make_unique<FakeAudio>();
    audio->bad = bad;
    parts.audio = std::move(audio);
    return std::make_unique<CutsSource>(options, s2s::BatchSpec{}, context, std::move(parts));
  }

  s2s::test::TableTokenizer tokenizer;
  s2s::DataContext context;
  CutsSourceOptions options;
  FakeSet set;
  bool trng = false;
  std::set<std::string> bad;
  FakeBatches* last = nullptr;
  std::vector<std::string> warnings;
};

Ids take(s2s::DataSource& source, int64_t count) {
  Ids ids;
  for (int64_t i = 0; i < count; ++i) {
    const std::optional<Batch> batch = source.next();
    if (!batch) break;
    ids.push_back(batch->ids);
  }
  return ids;
}

/// Ids of `count` rounds of all ranks, in the global order.
Ids take_rounds(const std::vector<std::unique_ptr<CutsSource>>& ranks, int64_t count) {
  Ids ids;
  for (int64_t i = 0; i < count; ++i) {
    for (const auto& rank : ranks) {
      for (const auto& batch : take(*rank, 1)) ids.push_back(batch);
    }
  }
  return ids;
}

std::vector<std::unique_ptr<CutsSource>> open_ranks(Sources& sources, int64_t size,
                                                    const std::string& state) {
  std::vector<std::unique_ptr<CutsSource>> ranks;
  for (int64_t rank = 0; rank < size; ++rank) {
    ranks.push_back(sources.open(rank, size));
    ranks.back()->restore(state);
  }
  return ranks;
}

}  // namespace

TEST_CASE("the source keeps the promises of its interface, with any number of threads") {
  for (const int64_t workers : {0, 1, 4}) {
    Sources sources;
    sources.options.num_workers = workers;
    sources.set.batches = 7;
    CHECK(s2s::conformance::broken_promises([&] { return sources.open(); }, 20).empty());
  }
}

TEST_CASE("a run goes on with another number of data ranks: no cut is lost, none comes twice") {
  Sources sources;
  sources.set.batches = 50;
  const Ids all = take(*sources.open(), 160);
  Ids seen;
  std::string state;
  for (const int64_t size : {1, 2, 4, 3, 1, 3}) {
    const auto ranks = open_ranks(sources, size, state);
    for (const auto& batch : take_rounds(ranks, 10)) seen.push_back(batch);
    state = ranks.front()->state();
    for (const auto& rank : ranks) CHECK(rank->state() == state);
  }
  REQUIRE(seen.size() == 140);
  CHECK(seen == Ids(all.begin(), all.begin() + 140));
  std::set<std::string> epoch;
  for (size_t i = 0; i < 50; ++i) epoch.insert(seen[i].begin(), seen[i].end());
  CHECK(epoch.size() == 150);
}

TEST_CASE("all ranks of a finite set see each batch once and agree on the end") {
  Sources sources;
  sources.options.repeat = false;
  for (const int64_t size : {1, 2, 3, 4}) {
    CAPTURE(size);
    const auto ranks = open_ranks(sources, size, "");
    CHECK(take_rounds(ranks, 7).size() == 5);
    for (const auto& rank : ranks) {
      CHECK(rank->state() == ranks.front()->state());
      CHECK_FALSE(rank->next());
      rank->restore(ranks.front()->state());
      CHECK_FALSE(rank->next());
    }
  }
}

TEST_CASE("states are the same whether a run was interrupted or not, and cost little") {
  Sources sources;
  sources.set.batches = 40;
  const auto straight = sources.open();
  FakeBatches& planned = *sources.last;
  std::vector<std::string> states;
  for (int i = 0; i < 100; ++i) {
    states.push_back(straight->state());
    straight->next();
  }
  CHECK(planned.num_states <= 4);
  for (const size_t at : {1, 31, 32, 33, 64, 70}) {
    CAPTURE(at);
    const auto resumed = sources.open();
    resumed->restore(states[at]);
    for (size_t i = at; i < 100; i += 7) {
      CHECK(resumed->state() == states[i]);
      take(*resumed, 7);
    }
  }
}

TEST_CASE("bad cuts are left out and counted, up to the limit") {
  for (const int64_t workers : {0, 1, 4}) {
    CAPTURE(workers);
    Sources sources;
    sources.options.num_workers = workers;
    sources.bad = {"s0e0b1r0p0", "s0e0b3r2p0"};
    CHECK_THROWS_WITH_AS(take(*sources.open(), 5), doctest::Contains("[test/bad-audio]"),
                         s2s::Error);
    sources.options.skip_bad = 1;
    const auto strict = sources.open();
    CHECK(take(*strict, 3)[1] == std::vector<std::string>{"s0e0b1r1p0", "s0e0b1r2p0"});
    CHECK_THROWS_WITH_AS(take(*strict, 1), doctest::Contains("[data/too-many-bad]"), s2s::Error);
    sources.options.skip_bad = 2;
    const auto source = sources.open();
    sources.warnings.clear();
    CHECK(take(*source, 10).size() == 10);
    const std::vector<std::string> expected = {
        "[test/bad-audio] made-up.jsonl:2: cut 's0e0b1r0p0': cannot be read",
        "[test/bad-audio] made-up.jsonl:4: cut 's0e0b3r2p0': cannot be read"};
    CHECK(source->left_out() == expected);
    REQUIRE(sources.warnings.size() == 2);
    CHECK(sources.warnings[1] == "data.train_ds: skipped bad cut 2 of at most 2: " + expected[1]);
    const auto resumed = sources.open();
    resumed->restore(source->state());
    CHECK(resumed->left_out() == expected);
  }
}

TEST_CASE("too many bad cuts are listed, with the rank that met them") {
  Sources sources;
  sources.options.skip_bad = 1;
  sources.bad = {"s0e0b1r0p0", "s0e0b1r2p0"};
  const auto source = sources.open(1, 2);
  try {
    source->next();
    FAIL("no error");
  } catch (const s2s::Error& error) {
    CHECK(error.exit_code() == s2s::ExitCode::kData);
    const std::string text = error.what();
    CAPTURE(text);
    CHECK(text.find(
              "data.train_ds: data rank 1: 2 cuts cannot be used; expected at most 1 (skip_bad)") !=
          std::string::npos);
    CHECK(text.find("\n  [test/bad-audio] made-up.jsonl:2: cut 's0e0b1r2p0'") != std::string::npos);
  }
}

TEST_CASE("the next good row replaces a batch without one, also after a resume") {
  for (const int64_t workers : {0, 3}) {
    Sources sources;
    sources.options.num_workers = workers;
    sources.options.skip_bad = 9;
    for (const char* batch : {"1", "2"}) {
      for (const char* row : {"0", "1", "2"}) {
        sources.bad.insert(std::string("s0e0b") + batch + "r" + row + "p0");
      }
    }
    sources.bad.insert("s0e0b3r0p0");
    const auto source = sources.open();
    std::vector<std::string> states;
    Ids all;
    for (int i = 0; i < 6; ++i) {
      states.push_back(source->state());
      all.push_back(take(*source, 1).front());
    }
    CHECK(all[1] == std::vector<std::string>{"s0e0b3r1p0"});
    CHECK(all[2] == all[1]);
    CHECK(all[3] == std::vector<std::string>{"s0e0b3r1p0", "s0e0b3r2p0"});
    CHECK(all[4].size() == 3);
    CHECK(source->left_out().size() == 7);
    for (size_t i = 0; i < 6; ++i) {
      const auto resumed = sources.open();
      resumed->restore(states[i]);
      CHECK(take(*resumed, static_cast<int64_t>(6 - i)) == Ids(all.begin() + i, all.end()));
      CHECK(resumed->state() == source->state());
    }
    sources.options.repeat = false;
    CHECK(take(*sources.open(), 9).size() == 3);  // validation does not replace batches
  }
}

TEST_CASE("seeds of the operating system: one order on all ranks, kept by a resumed run") {
  Sources sources;
  sources.trng = true;
  sources.context.entropy = 7;
  const auto first = sources.open(0, 2);
  const auto second = sources.open(1, 2);
  const Ids mine = take(*first, 3);
  CHECK(mine[0][0] == "s7e0b0r0p0");
  CHECK(take(*second, 1)[0][0] == "s7e0b1r0p0");
  const std::string state = first->state();
  const Ids rest = take(*first, 3);
  sources.context.entropy = 8;
  const auto resumed = sources.open(0, 2);
  CHECK(take(*resumed, 1)[0][0] == "s8e0b0r0p0");
  resumed->restore(state);
  CHECK(take(*resumed, 3) == rest);
  sources.options.on_restart = "reshuffle";
  const auto reshuffled = sources.open(0, 2);
  reshuffled->restore(state);
  CHECK(take(*reshuffled, 1)[0][0] == "s1000011e0b0r0p0");
}

TEST_CASE("restarted jobs differ when asked, also from each other") {
  Sources sources;
  sources.options.on_restart = "reshuffle";
  std::string state;
  std::set<std::string> starts;
  for (int start = 0; start < 3; ++start) {
    const auto source = sources.open();
    source->restore(state);
    starts.insert(take(*source, 7)[0][0]);
    state = source->state();
  }
  CHECK(starts == std::set<std::string>{"s0e0b0r0p0", "s1000003e1b0r0p0", "s2000006e2b0r0p0"});
  sources.options.on_restart = "continue";
  const auto source = sources.open();
  source->restore(state);
  CHECK(take(*source, 1)[0][0] == "s2000006e3b2r0p0");
}

TEST_CASE("changed data begins the epoch anew when that is allowed") {
  Sources sources;
  const auto source = sources.open();
  take(*source, 7);
  const std::string state = source->state();
  sources.set.batches = 6;
  CHECK_THROWS_WITH_AS(sources.open()->restore(state), doctest::Contains("[data/state]"),
                       s2s::Error);
  sources.options.allow_changed_data = true;
  const auto changed = sources.open();
  changed->restore(state);
  CHECK(take(*changed, 1)[0][0] == "s0e1b0r0p0");
  const std::string after = changed->state();
  const Ids rest = take(*changed, 3);
  changed->restore(after);
  CHECK(take(*changed, 3) == rest);
}

TEST_CASE("of a large set only the first cuts are looked at before the first batch") {
  Sources sources;
  sources.set.cuts_to_visit = 10'000'000;
  const auto source = sources.open();
  CHECK(sources.last->num_visited == 20000);
  CHECK(sources.last->num_planned == 0);
  CHECK(source->texts().size() == 200000);
}

TEST_CASE("a set without cuts is [data/empty]") {
  Sources sources;
  sources.set.cuts_to_visit = 0;
  CHECK_THROWS_WITH_AS(sources.open(), doctest::Contains("the set has no usable cuts"), s2s::Error);
}
