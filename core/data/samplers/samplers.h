#pragma once
// Samplers make batches of a stream's cuts, in lhotse's order. With equal integer seeds, ids and
// batches equal lhotse's for every epoch, number of ranks and rank, except in the last round of the
// ranks.
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
  int64_t bucket = -1;  // -1: there are no buckets
};

struct SamplerCounts {  // of the current pass (lhotse's diagnostics)
  int64_t kept_cuts = 0, discarded_cuts = 0, kept_batches = 0, discarded_batches = 0;
};

/// Makes batches of a stream's items, in one global order. Of D data ranks, rank r takes every D-th
/// batch, beginning with batch r.
class BatchSampler {
 public:
  virtual ~BatchSampler() = default;
  /// Returns the next batch of the global order, or nothing at the end of the pass.
  virtual std::optional<SampledBatch> next() = 0;
  /// Begins pass `epoch`. Its generator is seeded with seed + epoch, as by lhotse's set_epoch.
  virtual void rewind(int64_t epoch) = 0;
  virtual StreamState state() const = 0;
  virtual void restore(const StreamState& state) = 0;
  virtual std::shared_ptr<const Cut> make(CutKeyView key) const = 0;
  virtual uint64_t fingerprint() const = 0;
  virtual SamplerCounts counts() const = 0;
};

using SamplerPtr = std::unique_ptr<BatchSampler>;

/// Says when a batch is full (lhotse's TimeConstraint). At least one of the first two is set.
struct BatchLimits {
  std::optional<double> max_length;  // number of cuts times the longest cut, so padding counts
  std::optional<int64_t> max_cuts;
  std::optional<double> quadratic_length;  // a cut's length becomes length + length * length / this
};

/// Options that all samplers share.
struct SamplerOptions {
  int64_t seed = 0;  // pass p draws with seed + p
  bool shuffle = false;
  bool drop_last = false;  // drops the cuts at the end that do not fill a batch
  CutMeasure measure;      // empty: the duration
  std::string functions;   // says what `measure` depends on, for the fingerprint
  std::function<void(const std::string&)> warn;
};

struct DynamicCutOptions : SamplerOptions {
  BatchLimits limits;
  int64_t shuffle_buffer_size = 20000;
};

/// DynamicCutSampler: batches in the order of the stream, after a buffer has shuffled it.
SamplerPtr dynamic_cut_sampler(StreamPtr source, const DynamicCutOptions& options);

struct DynamicBucketingOptions : SamplerOptions {
  std::variant<BatchLimits, FixedBatchSizes> limits;
  Bins bins;                 // empty: estimated from the first cuts
  int64_t num_buckets = 10;  // if bins are estimated
  int64_t num_cuts_for_bins = 10000;
  int64_t buffer_size = 20000;  // cuts in all buckets together
  /// Number of consecutive batches from one bucket: the number of data ranks.
  int64_t bucket_group = 1;
};

/// DynamicBucketingSampler: cuts wait in buckets of similar length, and all cuts of a batch are
/// from one bucket. A separate generator chooses the bucket (lhotse's sync_buckets).
/// Errors: [data/too-few-cuts] and [data/bins] from the first `next`.
SamplerPtr dynamic_bucketing_sampler(StreamPtr source, const DynamicBucketingOptions& options);

/// ZipSampler: joins one batch of each sampler, until one of them has ended.
/// Key: number of the sampler, then its key.
SamplerPtr zip_sampler(std::vector<SamplerPtr> samplers);

struct RoundRobinOptions {
  std::vector<double> weights;  // for a random choice; empty: one sampler after the other
  bool randomize = false;       // draws with equal weights if `weights` is empty
  int64_t seed = 0;
  int64_t num_ranks = 1;  // consecutive batches from the same sampler
};

/// RoundRobinSampler: takes batches from several samplers in turns.
/// Key: number of the sampler, then its key.   Errors: [data/weights].
SamplerPtr round_robin_sampler(std::vector<SamplerPtr> samplers, const RoundRobinOptions& options);

}  // namespace s2s::data
