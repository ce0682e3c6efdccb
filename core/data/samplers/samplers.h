#pragma once
// Samplers: a stream's cuts in batches, in lhotse's order. With equal seeds (whole numbers) ids and
// batches are lhotse's for every epoch, number of ranks and rank, up to the last turn of the ranks.
// Source: lhotse 1.33 dataset/sampling; NeMo 3.0 collections/common/data/lhotse/sampling.py.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "samplers/buckets.h"
#include "streams/combinators.h"

namespace s2s::data {

struct SampledBatch {
  std::vector<CutItem> items;
  int64_t bucket = -1;  // -1: no buckets
};

struct SamplerCounts {  // of the current pass (lhotse's diagnostics)
  int64_t kept_cuts = 0, discarded_cuts = 0, kept_batches = 0, discarded_batches = 0;
};

/// A stream's items in batches. One global order of batches: of D data ranks, rank r takes every
/// D-th batch from r.
class BatchSampler {
 public:
  virtual ~BatchSampler() = default;
  /// The next batch of the global order; nothing at the end of the pass.
  virtual std::optional<SampledBatch> next() = 0;
  /// Begins pass `epoch` (its RNG seed is seed + epoch, as lhotse's set_epoch does).
  virtual void rewind(int64_t epoch) = 0;
  virtual StreamState state() const = 0;
  virtual void restore(const StreamState& state) = 0;
  virtual std::shared_ptr<const Cut> make(CutKeyView key) const = 0;
  virtual uint64_t fingerprint() const = 0;
  virtual SamplerCounts counts() const = 0;
};

using SamplerPtr = std::unique_ptr<BatchSampler>;

/// When a batch is full (lhotse's TimeConstraint). At least one of the first two is given.
struct BatchLimits {
  std::optional<double> max_length;  // number of cuts times the longest: with padding
  std::optional<int64_t> max_cuts;
  std::optional<double> quadratic_length;  // a cut counts length + length * length / this
};

/// What all samplers have.
struct SamplerOptions {
  int64_t seed = 0;  // a pass draws with seed + epoch
  bool shuffle = false;
  bool drop_last = false;  // what is left at the end and fills no batch is left out
  CutMeasure measure;      // none: the duration
  std::string functions;   // what measure depends on, for the fingerprint
  std::function<void(const std::string&)> warn;
};

struct DynamicCutOptions : SamplerOptions {
  BatchLimits limits;
  int64_t shuffle_buffer_size = 20000;
};

/// DynamicCutSampler: batches in the order of the stream, which a buffer shuffles.
SamplerPtr dynamic_cut_sampler(StreamPtr source, const DynamicCutOptions& options);

struct DynamicBucketingOptions : SamplerOptions {
  std::variant<BatchLimits, FixedBatchSizes> limits;
  Bins bins;                 // none: estimated from the first cuts
  int64_t num_buckets = 10;  // when they are
  int64_t num_cuts_for_bins = 10000;
  int64_t buffer_size = 20000;  // cuts in all buckets together
  int64_t bucket_group = 1;     // so many batches in a row share a bucket: the data ranks
};

/// DynamicBucketingSampler: cuts wait in buckets of like length; a batch is of one bucket, which a
/// generator of its own chooses (lhotse's sync_buckets).
/// Errors: [data/too-few-cuts] and [data/bins] from the first `next`.
SamplerPtr dynamic_bucketing_sampler(StreamPtr source, const DynamicBucketingOptions& options);

/// ZipSampler: a batch of each sampler, joined, until one has ended.
/// Key: number of the sampler, its key.
SamplerPtr zip_sampler(std::vector<SamplerPtr> samplers);

struct RoundRobinOptions {
  std::vector<double> weights;  // of randomized choices; none: one after the other
  bool randomize = false;       // without weights: all alike
  int64_t seed = 0;
  int64_t num_ranks = 1;  // batches of a turn are of one sampler
};

/// RoundRobinSampler: batches of several samplers in turns.   Key: number of the sampler, its
/// key.   Errors: [data/weights].
SamplerPtr round_robin_sampler(std::vector<SamplerPtr> samplers, const RoundRobinOptions& options);

}  // namespace s2s::data
