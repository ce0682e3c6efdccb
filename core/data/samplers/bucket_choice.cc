#include "samplers/bucket_choice.h"

#include <algorithm>

#include "streams/stream_parts.h"

namespace s2s::data {

void SyncedBuckets::rewind() {
  constexpr int64_t kSeed = 1234;
  choice_ = {PythonRandom(kSeed), -1, 0};
}

size_t SyncedBuckets::drawn() {
  if (choice_.bucket < 0 || choice_.num_uses >= group_) {
    choice_.bucket = choice_.rng.randrange(static_cast<int64_t>(num_buckets_));
    choice_.num_uses = 0;
  }
  ++choice_.num_uses;
  return static_cast<size_t>(choice_.bucket);
}

std::optional<size_t> SyncedBuckets::found(const BucketTest& test) {
  const auto begin = static_cast<int64_t>(drawn());
  const auto count = static_cast<int64_t>(num_buckets_);
  // begin, -1, +1, -2, +2, ... until both sides are beyond the ends.
  for (int64_t away = 0; away <= std::max(begin, count - 1 - begin); ++away) {
    for (const int64_t bucket : {begin - away, begin + away}) {
      if (bucket >= 0 && bucket < count && test(static_cast<size_t>(bucket))) {
        return static_cast<size_t>(bucket);
      }
    }
  }
  return std::nullopt;
}

std::optional<size_t> SyncedBuckets::next(const BucketTest& is_ready,
                                          const BucketTest& is_not_empty, bool accept_partial) {
  const Choice before = choice_;
  if (const std::optional<size_t> bucket = found(is_ready)) return bucket;
  if (!accept_partial) return std::nullopt;
  // The second attempt draws what the first did, so that ranks stay alike.
  choice_ = before;
  return found(is_not_empty);
}

StreamState SyncedBuckets::state() const {
  return {{"rng", choice_.rng.state()}, {"bucket", choice_.bucket}, {"uses", choice_.num_uses}};
}

void SyncedBuckets::restore(const StreamState& state) {
  choice_.rng.restore(state_field<std::string>(state, "rng"));
  choice_.bucket = state_field<int64_t>(state, "bucket");
  choice_.num_uses = state_field<int64_t>(state, "uses");
}

}  // namespace s2s::data
