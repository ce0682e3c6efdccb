#pragma once
// Samplers: a stream's cuts in batches, in lhotse's order. With equal seeds (whole numbers) ids and
// batches are lhotse's for every epoch, number of ranks and rank.
// Source: lhotse 1.33 dataset/sampling; NeMo 3.0 collections/common/data/lhotse/sampling.py.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sampling/batch_sampler.h"
#include "sampling/buckets.h"
#include "stream/combinators.h"

namespace s2s::data {

using SamplerPtr = std::unique_ptr<BatchSampler>;

/// When a batch is full (lhotse's TimeConstraint). At least one of the first two is given.
struct BatchLimits {
  std::optional<double> max_length;  // number of cuts times the longest: with padding
  std::optional<int64_t> max_cuts;
  std::optional<double> quadratic_length;  // a cut counts length + length * length / this
  bool adds_up = false;                    // the sum of lengths instead (concatenate_cuts)
};

/// What all samplers have.
struct SamplerOptions {
  int64_t seed = 0;  // a pass draws with seed + epoch
  bool shuffle = false;
  bool drop_last = false;     // what is left at the end and fills no batch is left out
  CutMeasure measure;         // none: the duration
  CutTest filter;             // none: all pass; what does not is counted as discarded
  std::string functions;      // what measure and filter depend on, for the fingerprint
  int64_t passes_before = 0;  // of the source before epoch 0, as lhotse counts them
  bool keep_cuts = true;      // false: waiting cuts are tokens only, to save memory
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
  bool sync_buckets = true;     // a generator of its own chooses buckets: ranks stay alike
  /// Without sync_buckets lhotse ends a pass as soon as, no bucket having a full batch, it draws an
  /// empty one; what is left in the others is lost. False: all of it comes.
  bool ends_at_empty_bucket = false;
  int64_t bucket_group = 1;  // so many batches in a row share a bucket: the data ranks
};

/// DynamicBucketingSampler: cuts wait in buckets of like length; a batch is of one bucket.
/// Errors: [data/too-few-cuts] and [data/bins] from the first `next`.
SamplerPtr dynamic_bucketing_sampler(StreamPtr source, const DynamicBucketingOptions& options);

struct SimpleOptions : SamplerOptions {
  BatchLimits limits;
  bool is_eager = true;  // all cuts are held and shuffled; else a buffer of 10000 shuffles them
};

/// SimpleCutSampler: a batch ends before the cut that would exceed the limits.
SamplerPtr simple_cut_sampler(StreamPtr source, const SimpleOptions& options);

/// CutPairsSampler: SimpleCutSampler of a stream of pairs (stream/pair_stream.h); a batch ends,
/// too, before the target that would exceed its own limit.
struct PairOptions : SimpleOptions {
  std::optional<double> max_target_length;  // number of pairs times the longest target
  CutMeasure target_measure;                // none: the duration of target_audio
};

/// Errors: [data/batch-limits].
SamplerPtr cut_pairs_sampler(StreamPtr pairs, const PairOptions& options);

struct WeightedOptions {
  std::vector<double> weights;  // of the source's cuts
  int64_t num_samples = 0;
  uint32_t numpy_seed = 0;  // numpy.random.seed before the first epoch
};

/// WeightedSimpleCutSampler: cuts that are drawn by weight without replacement, eager.
SamplerPtr weighted_simple_cut_sampler(StreamPtr source, const SimpleOptions& options,
                                       const WeightedOptions& weighted);

/// What happens in the last turn, when there are not batches for all ranks.
enum class Tail {
  kKeep,       // nothing: some ranks have one batch less
  kDuplicate,  // the cuts that are left are spread over all ranks; if they are too few, some come
               // several times, named "ID_dupK" (lhotse, drop_last=False)
  kDrop,       // the turn is left out (lhotse, drop_last=True)
};

/// The batches in turns of `num_ranks`.   Token: as the sampler's; in front, with kDuplicate, which
/// times it was duplicated (bits).
SamplerPtr in_turns(SamplerPtr sampler, int64_t num_ranks, Tail tail);

struct BucketingOptions : SimpleOptions {
  int64_t num_buckets = 10;
  int64_t num_ranks = 1;  // batches of a turn are of one bucket
  Tail tail = Tail::kDuplicate;
  int64_t bucket_seed = 0;  // of the choice of a bucket; `seed` is the buckets' own
};

/// BucketingSampler (eager): buckets of equal total duration, each with a SimpleCutSampler.
SamplerPtr bucketing_sampler(StreamPtr source, const BucketingOptions& options);

/// ZipSampler: a batch of each sampler, joined, until one has ended.
/// Token: number of the sampler, its token.
SamplerPtr zip_sampler(std::vector<SamplerPtr> samplers);

struct RoundRobinOptions {
  bool stop_early = false;
  std::vector<double> weights;  // of randomized choices; none: one after the other
  bool randomize = false;       // without weights: all alike
  int64_t seed = 0;
  int64_t num_ranks = 1;  // batches of a turn are of one sampler
};

/// RoundRobinSampler: batches of several samplers in turns.   Token: number of the sampler, its
/// token.   Errors: [data/weights].
SamplerPtr round_robin_sampler(std::vector<SamplerPtr> samplers, const RoundRobinOptions& options);

}  // namespace s2s::data
