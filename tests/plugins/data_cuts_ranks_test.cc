// Buckets, weights and packed rows over data ranks: one order, whatever their number.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "plugins/data_cuts/small_set.h"
#include "s2s/conformance.h"

namespace {

using s2s::Config;
using s2s::DataSource;
using s2s::test::Ids;
using s2s::test::SmallSet;
using s2s::test::take;

void use_buckets(SmallSet& set) {
  set.options.erase("batch_size");
  set.set("batch_duration", "4");
  set.set("use_bucketing", "true");
  set.set("num_buckets", "3");
  set.set("bucket_buffer_size", "20");
  set.set("num_cuts_for_bins_estimate", "30");
  set.set("shuffle", "true");
  set.set("shuffle_buffer_size", "10");
}

void pack_rows(SmallSet& set) {
  set.set("batch_size", "2");
  set.set("shuffle", "true");
  set.options["concatenate"]["max_duration"] = Config::scalar("8");
}

/// Goes on from `state` with `size` ranks for some rounds; adds the ids in the global order.
std::string go_on(SmallSet& set, int size, const std::string& state,
                  std::vector<std::string>& ids) {
  constexpr int kRounds = 5;
  set.context.data_size = size;
  std::vector<std::unique_ptr<DataSource>> ranks;
  for (int rank = 0; rank < size; ++rank) {
    set.context.data_rank = rank;
    ranks.push_back(set.open());
    ranks.back()->restore(state);
  }
  for (int round = 0; round < kRounds; ++round) {
    for (const auto& rank : ranks) {
      const Ids batch = take(*rank, 1);
      REQUIRE(batch.size() == 1);
      for (const std::string& row : batch.front()) {
        size_t begin = 0;  // "c7", or "c7@0+c3@12"
        for (size_t end = 0; end != std::string::npos; begin = end + 1) {
          end = row.find('+', begin);
          ids.push_back(row.substr(begin, row.find_first_of("@+", begin) - begin));
        }
      }
    }
  }
  for (const auto& rank : ranks) CHECK(rank->state() == ranks.front()->state());
  return ranks.front()->state();
}

}  // namespace

TEST_CASE("going on with 1, 2, 3, 4 ranks in turn, every epoch has every cut once") {
  for (void (*const choose)(SmallSet&) : {&use_buckets, &pack_rows}) {
    SmallSet set(40);
    choose(set);
    set.set("num_workers", "2");
    std::vector<std::string> ids;
    std::string state;
    for (const int size : {1, 2, 3, 4, 2, 1, 4, 3, 3, 1}) state = go_on(set, size, state, ids);
    REQUIRE(ids.size() > 120);
    for (size_t epoch = 0; 40 * (epoch + 1) <= ids.size(); ++epoch) {
      const std::set<std::string> seen(ids.begin() + 40 * epoch, ids.begin() + 40 * (epoch + 1));
      CAPTURE(epoch);
      CHECK(seen.size() == 40);
    }
  }
}

TEST_CASE("with buckets, packed rows and weighted sources the source keeps its promises") {
  SmallSet set(40);
  set.set("num_workers", "3");
  SUBCASE("buckets") { use_buckets(set); }
  SUBCASE("packed rows") { pack_rows(set); }
  SUBCASE("weighted sources") {
    use_buckets(set);
    Config entry = Config::map();
    entry["type"] = Config::scalar("lhotse");
    entry["cuts_path"] = set.options["cuts_path"];
    entry["weight"] = Config::scalar("0.3");
    set.options["input_cfg"] = Config::list({entry, entry});
    set.options.erase("cuts_path");
  }
  CHECK(s2s::conformance::broken_promises([&] { return set.open(); }, 45).empty());
}
