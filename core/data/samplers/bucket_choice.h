#pragma once
// From which bucket the next batch is.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "streams/cut_stream.h"
#include "streams/python_random.h"

namespace s2s::data {

using BucketTest = std::function<bool(size_t bucket)>;

/// Chooses buckets with a generator of its own, the same several times in a row; where that bucket
/// has too little, its nearest neighbor that has enough, in turns below and above.
/// Source: lhotse dataset/sampling/dynamic_bucketing.py, algorithm 2 and BucketSelectionState.
class SyncedBuckets {
 public:
  SyncedBuckets(size_t num_buckets, int64_t group) : num_buckets_(num_buckets), group_(group) {}
  void rewind();
  /// A bucket that is ready; with `accept_partial`, else one that is not empty; else nothing.
  std::optional<size_t> next(const BucketTest& is_ready, const BucketTest& is_not_empty,
                             bool accept_partial);
  StreamState state() const;
  void restore(const StreamState& state);

 private:
  struct Choice {
    PythonRandom rng;
    int64_t bucket = -1;  // -1: none yet
    int64_t num_uses = 0;
  };
  size_t drawn();
  std::optional<size_t> found(const BucketTest& test);
  size_t num_buckets_;
  int64_t group_;
  Choice choice_;
};

}  // namespace s2s::data
