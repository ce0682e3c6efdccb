#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "core/samplers/sampler_of_spec.h"
#include "core/streams/random_spec.h"

namespace s2s::data {
namespace {

json random_limits(PythonRandom& rng, json spec) {
  const int64_t kind = rng.randint(0, 2);
  if (kind != 1) spec["max_duration"] = rng.randint(10, 200);
  if (kind != 0) spec["max_cuts"] = rng.randint(1, 12);
  if (kind == 2) spec["quadratic"] = 15;
  return spec;
}

json random_sampler_spec(PythonRandom& rng, const json& of) {
  json spec = {{"of", of},
               {"shuffle", rng.randint(0, 1) == 1},
               {"seed", rng.randint(0, 99)},
               {"drop_last", rng.randint(0, 2) == 0},
               {"buffer", rng.randint(1, 300)}};
  spec = random_limits(rng, std::move(spec));
  spec["sampler"] = rng.randint(0, 2) == 0 ? "dynamic_cut" : "dynamic_bucketing";
  if (spec["sampler"] == "dynamic_bucketing") spec["bins"] = {2.0, 4.5, 7.0, 15.0};
  return spec;
}

json random_group_spec(PythonRandom& rng, int depth) {
  const int64_t kind = rng.randint(0, 5);
  if (kind > 1) return random_sampler_spec(rng, random_stream_spec(rng, depth));
  json of = json::array();
  for (int64_t left = rng.randint(1, 3); left > 0; --left) {
    of.push_back(random_sampler_spec(rng, random_stream_spec(rng, depth)));
  }
  if (kind == 0) return {{"sampler", "zip"}, {"of", of}};
  return {{"sampler", "round_robin"}, {"of", of}, {"randomize", rng.randint(0, 1) == 1}};
}

std::vector<BatchIds> next_ids(BatchSampler& sampler, int64_t count) {
  std::vector<BatchIds> ids;
  while (std::cmp_less(ids.size(), count)) {
    const std::optional<SampledBatch> batch = sampler.next();
    if (!batch) break;
    ids.push_back(ids_of(*batch, sampler));
  }
  return ids;
}

void check_stop(const json& spec, PythonRandom& rng) {
  CAPTURE(spec.dump());
  const int64_t num_ranks = rng.randint(1, 4);
  const SamplerPtr sampler = sampler_of(spec, num_ranks);
  sampler->rewind(rng.randint(0, 2));
  next_ids(*sampler, rng.randint(0, 60));
  const std::string state = sampler->state().dump();
  const SamplerPtr again = sampler_of(spec, num_ranks);
  CHECK(again->fingerprint() == sampler->fingerprint());
  const int64_t num_read = MemoryStream::num_read;
  const int64_t num_made = MemoryStream::num_made;
  again->restore(json::parse(state));
  CHECK(MemoryStream::num_read == num_read);
  CHECK(MemoryStream::num_made == num_made);
  CHECK(again->state().dump() == state);
  CHECK(next_ids(*again, 50) == next_ids(*sampler, 50));
  CHECK(again->counts().kept_cuts == sampler->counts().kept_cuts);
  CHECK(again->counts().discarded_cuts == sampler->counts().discarded_cuts);
}

std::map<std::string, int> counted(const std::vector<BatchIds>& batches) {
  std::map<std::string, int> counts;
  for (const BatchIds& ids : batches) {
    for (const std::string& id : ids) ++counts[id];
  }
  return counts;
}

void keep_everything(json& spec) {
  spec["drop_last"] = false;
  if (spec["of"].is_array()) {
    for (json& part : spec["of"]) keep_everything(part);
  }
}

}  // namespace

TEST_CASE("samplers go on from any batch exactly, and read nothing to do so") {
  PythonRandom rng(11);
  for (int i = 0; i < 300; ++i) {
    check_stop(random_group_spec(rng, static_cast<int>(rng.randint(0, 4))), rng);
  }
}

TEST_CASE("estimated bounds of buckets are part of the position") {
  const json spec = {{"sampler", "dynamic_bucketing"},
                     {"max_duration", 60},
                     {"buffer", 100},
                     {"num_buckets", 5},
                     {"estimate", 150},
                     {"shuffle", true},
                     {"of", {{"op", "cuts"}, {"name", "a"}, {"count", 300}, {"seed", 4}}}};
  for (const int64_t stop : {0, 1, 20}) {
    const SamplerPtr sampler = sampler_of(spec, 1);
    next_ids(*sampler, stop);
    const SamplerPtr again = sampler_of(spec, 1);
    const int64_t num_read = MemoryStream::num_read;
    again->restore(json::parse(sampler->state().dump()));
    CHECK(MemoryStream::num_read == num_read);
    CHECK(next_ids(*again, 50) == next_ids(*sampler, 50));
  }
}

TEST_CASE("with another number of data ranks no cut is lost or comes twice") {
  PythonRandom rng(13);
  for (int i = 0; i < 100; ++i) {
    json spec = random_sampler_spec(rng, finite_stream_spec(rng, 3));
    if (i % 4 == 0) {
      spec = {{"sampler", "round_robin"},
              {"randomize", i % 8 == 0},
              {"of", {spec, random_sampler_spec(rng, finite_stream_spec(rng, 2))}}};
    }
    keep_everything(spec);
    CAPTURE(spec.dump());
    const std::map<std::string, int> whole = counted(next_ids(*sampler_of(spec, 1), 1 << 20));
    const SamplerPtr before = sampler_of(spec, rng.randint(1, 4));
    std::vector<BatchIds> all = next_ids(*before, rng.randint(0, 40));
    const SamplerPtr after = sampler_of(spec, rng.randint(1, 4));
    CHECK(after->fingerprint() == before->fingerprint());
    after->restore(json::parse(before->state().dump()));
    for (const BatchIds& ids : next_ids(*after, 1 << 20)) all.push_back(ids);
    CHECK(counted(all) == whole);
  }
}

TEST_CASE("a position of buckets is small") {
  const json spec = {{"sampler", "dynamic_bucketing"},
                     {"max_duration", 60},
                     {"buffer", 20000},
                     {"bins", {4, 8, 12}},
                     {"shuffle", true},
                     {"of", {{"op", "cuts"}, {"name", "a"}, {"count", 25000}, {"seed", 4}}}};
  const SamplerPtr sampler = sampler_of(spec, 1);
  next_ids(*sampler, 10);
  // A key of one number, its length and its bytes; eight bytes of duration; base64.
  CHECK(sampler->state().dump().size() < 20000 * 20);
}

TEST_CASE("a sampler refuses another's position") {
  const json cuts = {{"op", "cuts"}, {"name", "a"}, {"count", 30}, {"seed", 4}};
  const auto bucketing = [&](const json& bins) {
    return sampler_of({{"sampler", "dynamic_bucketing"},
                       {"max_cuts", 3},
                       {"buffer", 9},
                       {"bins", bins},
                       {"of", cuts}},
                      1);
  };
  const SamplerPtr three = bucketing({4, 8, 12});
  next_ids(*three, 2);
  for (const json& state : {three->state(), json(), json(3)}) {
    try {
      bucketing({4})->restore(state);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.id() == "data/position");
    }
  }
}

}  // namespace s2s::data
