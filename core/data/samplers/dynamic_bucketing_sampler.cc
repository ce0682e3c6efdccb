// Makes batches of cuts of similar length.   Source: lhotse dataset/sampling/dynamic_bucketing.py.

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>

#include "samplers/sampler_parts.h"
#include "samplers/sampling_errors.h"
#include "streams/cut_stream.h"
#include "streams/python_random.h"
#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

using BucketTest = std::function<bool(size_t bucket)>;

/// Chooses buckets with its own generator, and keeps each choice for several batches. If the chosen
/// bucket has too few cuts, it takes the nearest bucket that has enough, alternating between
/// shorter and longer ones.
/// Source: lhotse dataset/sampling/dynamic_bucketing.py, algorithm 2 and BucketSelectionState.
class SyncedBuckets {
 public:
  SyncedBuckets(size_t num_buckets, int64_t group) : num_buckets_(num_buckets), group_(group) {}
  void rewind();
  /// Returns a bucket that is ready. Without one, returns a bucket that is not empty if
  /// `accept_partial` is set, or else nothing.
  std::optional<size_t> next(const BucketTest& is_ready, const BucketTest& is_not_empty,
                             bool accept_partial);
  StreamState state() const;
  void restore(const StreamState& state);

 private:
  struct Choice {
    PythonRandom rng;
    int64_t bucket = -1;  // -1: nothing chosen yet
    int64_t num_uses = 0;
  };
  size_t drawn();
  std::optional<size_t> found(const BucketTest& test);
  size_t num_buckets_;
  int64_t group_;
  Choice choice_;
};

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
  // Tries begin, -1, +1, -2, +2, ... until both sides are past the ends.
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
  // The second attempt repeats the draw of the first, so that all ranks draw equally often.
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

using Bucket = std::deque<SizedItem>;

std::string description(const DynamicBucketingOptions& options) {
  std::string text =
      fmt::format("dynamic_bucketing {} {} {} {} true false",
                  description(static_cast<const SamplerOptions&>(options)), options.num_buckets,
                  options.num_cuts_for_bins, options.buffer_size);
  if (const auto* fixed = std::get_if<FixedBatchSizes>(&options.limits)) {
    text += fmt::format(" sizes {}", fmt::join(fixed->sizes, " "));
  } else {
    text += " " + description(std::get<BatchLimits>(options.limits));
  }
  const Bins& bins = options.bins;
  return text + fmt::format(" bins {} | {} | {} {}", fmt::join(bins.lengths, " "),
                            fmt::join(bins.num_tokens, " "), bins.is_strict,
                            fmt::join(bins.max_ratio, " "));
}

class DynamicBucketingSampler : public BatchSampler {
 public:
  DynamicBucketingSampler(StreamPtr source, const DynamicBucketingOptions& options)
      : source_(std::move(source), options), options_(options), warning_(options.warn) {
    const auto* fixed = std::get_if<FixedBatchSizes>(&options_.limits);
    if (!fixed) check_limits(std::get<BatchLimits>(options_.limits));
    if (fixed && options_.bins.empty()) {
      throw sampling_errors::bins("batch sizes without bounds", "bucket_duration_bins, too");
    }
    check_bins(options_.bins, fixed ? std::optional(fixed->sizes.size()) : std::nullopt);
    rewind(0);
  }

  std::optional<SampledBatch> next() override {
    prepare();
    collect();
    const std::optional<size_t> bucket = chosen_bucket();
    if (!bucket) {
      discard_rest();
      return std::nullopt;
    }
    SampledBatch batch = taken(*bucket);
    counts_.kept_cuts += static_cast<int64_t>(batch.items.size());
    ++counts_.kept_batches;
    to_collect_ = static_cast<int64_t>(batch.items.size());
    return batch;
  }

  void rewind(int64_t epoch) override {
    epoch_ = epoch;
    rng_.seed(options_.seed + epoch);
    counts_ = {};
    to_collect_ = options_.buffer_size;
    is_fresh_ = true;
  }

  StreamState state() const override {
    StreamState state = {{"epoch", epoch_}, {"fresh", is_fresh_}};
    if (options_.bins.empty() && has_bins_) state["bins"] = packed_bins();
    if (is_fresh_) return state;
    StreamState buckets = StreamState::array();
    for (const Bucket& bucket : buckets_) buckets.push_back(packed_items(bucket));
    state["buckets"] = std::move(buckets);
    state["source"] = source_.stream().state();
    state["rng"] = rng_.state();
    state["choice"] = choice_->state();
    state["to_collect"] = to_collect_;
    state["counts"] = counts_state(counts_);
    return state;
  }

  void restore(const StreamState& state) override {
    rewind(state_field<int64_t>(state, "epoch"));
    if (state.contains("bins")) restore_bins(state_field<std::vector<int64_t>>(state, "bins"));
    if (state_field<bool>(state, "fresh")) return;
    if (!has_bins_) set_bins(options_.bins);
    const StreamState& buckets = state_list(state, "buckets", buckets_.size());
    for (size_t i = 0; i < buckets_.size(); ++i) {
      buckets_[i] = unpacked_items(state_value<std::string>(buckets[i]));
    }
    source_.stream().restore(state_part(state, "source"));
    rng_.restore(state_field<std::string>(state, "rng"));
    choice_->restore(state_part(state, "choice"));
    to_collect_ = state_field<int64_t>(state, "to_collect");
    counts_ = restored_counts(state);
    is_fresh_ = false;
  }

  CutPtr make(CutKeyView key) const override { return source_.stream().make(key); }

  uint64_t fingerprint() const override {
    return mixed_fingerprint(description(options_), std::vector{source_.stream().fingerprint()});
  }

  SamplerCounts counts() const override { return counts_; }

 private:
  // Reads what the first batch of a pass needs. It is not part of `rewind`, so that a position can
  // be restored without reading.
  void prepare() {
    if (!is_fresh_) return;
    if (!has_bins_) set_bins(options_.bins.empty() ? estimated_bins() : options_.bins);
    source_.stream().rewind(epoch_);
    for (Bucket& bucket : buckets_) bucket.clear();
    choice_->rewind();
    is_fresh_ = false;
  }

  Bins estimated_bins() {
    source_.stream().rewind(0);
    std::vector<double> lengths;
    while (std::cmp_less(lengths.size(), options_.num_cuts_for_bins)) {
      const std::optional<CutItem> item = source_.stream().next();
      if (!item) break;
      lengths.push_back(source_.measured(*cut_of(*item, source_.stream())).length);
    }
    Bins bins;
    bins.lengths = estimate_bins(std::move(lengths), options_.num_buckets);
    return bins;
  }

  void set_bins(Bins bins) {
    bins_ = std::move(bins);
    has_bins_ = true;
    // Lhotse always has an extra bucket for cuts that exceed all bounds, even if such cuts are not
    // allowed.
    buckets_.assign(bins_.lengths.size() + 1, {});
    choice_.emplace(buckets_.size(), options_.bucket_group);
  }

  std::vector<int64_t> packed_bins() const {
    std::vector<int64_t> bits;
    for (const double length : bins_.lengths) bits.push_back(std::bit_cast<int64_t>(length));
    return bits;
  }

  void restore_bins(const std::vector<int64_t>& bits) {
    Bins bins;
    for (const int64_t length : bits) bins.lengths.push_back(std::bit_cast<double>(length));
    set_bins(std::move(bins));
  }

  // Refills the buckets with as many cuts as the last batch took.
  void collect() {
    for (; to_collect_ > 0; --to_collect_) {
      std::optional<SizedItem> item = source_.next();
      if (!item) break;
      const std::optional<size_t> bucket = find_bucket(bins_, item->size);
      const bool must_fit = std::holds_alternative<FixedBatchSizes>(options_.limits);
      if (!bucket || (must_fit && *bucket == bins_.lengths.size())) throw unfit(*item);
      buckets_[*bucket].push_back(std::move(*item));
    }
    to_collect_ = 0;
  }

  Error unfit(const SizedItem& item) const {
    const auto text = [&](double length, int64_t num_tokens) {
      return bins_.is_2d() ? fmt::format("{} s with {} tokens", length, num_tokens)
                           : fmt::format("{} s", length);
    };
    return sampling_errors::longer_than_bins(
        *cut_of(item.item, source_.stream()), text(item.size.length, item.size.num_tokens),
        text(bins_.lengths.back(), bins_.is_2d() ? bins_.num_tokens.back() : 0));
  }

  // Whether a bucket's cuts, in any order, fill a batch. With fixed batch sizes their number
  // decides.
  bool is_ready(size_t bucket) const {
    if (const auto* fixed = std::get_if<FixedBatchSizes>(&options_.limits)) {
      return !buckets_[bucket].empty() &&
             std::cmp_greater_equal(buckets_[bucket].size(), fixed->sizes[bucket]);
    }
    BatchCount count(std::get<BatchLimits>(options_.limits));
    for (const SizedItem& item : buckets_[bucket]) {
      count.add(item.size.length);
      if (count.close_to_exceeding()) return true;
    }
    return false;
  }

  std::optional<size_t> chosen_bucket() {
    const BucketTest ready = [&](size_t bucket) { return is_ready(bucket); };
    const BucketTest not_empty = [&](size_t bucket) { return !buckets_[bucket].empty(); };
    return choice_->next(ready, not_empty, !options_.drop_last);
  }

  // Whether the counted cuts are a full batch.
  bool is_full(const BatchCount& count, size_t bucket) const {
    const auto* fixed = std::get_if<FixedBatchSizes>(&options_.limits);
    return fixed ? count.num_cuts() >= fixed->sizes[bucket] : count.close_to_exceeding();
  }

  // Removes a batch from a bucket.
  SampledBatch taken(size_t number) {
    Bucket& bucket = buckets_[number];
    std::vector<size_t> order(bucket.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (options_.shuffle) rng_.shuffle(order);
    static const BatchLimits kNone;
    const auto* limits = std::get_if<BatchLimits>(&options_.limits);
    BatchCount count(limits ? *limits : kNone);
    SampledBatch batch;
    batch.bucket = static_cast<int64_t>(number);
    for (const size_t index : order) {
      SizedItem& item = bucket[index];
      count.add(item.size.length);
      if (batch.items.empty() && count.exceeded()) warning_.about(item, source_.stream());
      batch.items.push_back(std::move(item.item));
      if (is_full(count, number)) break;
    }
    order.resize(batch.items.size());
    remove(bucket, std::move(order));
    return batch;
  }

  static void remove(Bucket& bucket, std::vector<size_t> indices) {
    std::sort(indices.begin(), indices.end(), std::greater<>());
    for (const size_t index : indices) {
      bucket.erase(bucket.begin() + static_cast<std::ptrdiff_t>(index));
    }
  }

  // Called at the end of a pass with drop_last.
  void discard_rest() {
    for (Bucket& bucket : buckets_) {
      if (bucket.empty()) continue;
      counts_.discarded_cuts += static_cast<int64_t>(bucket.size());
      ++counts_.discarded_batches;
      bucket.clear();
    }
  }

  SizedStream source_;
  DynamicBucketingOptions options_;
  LongCutWarning warning_;
  Bins bins_;
  bool has_bins_ = false;
  std::vector<Bucket> buckets_;
  std::optional<SyncedBuckets> choice_;
  PythonRandom rng_;
  SamplerCounts counts_;
  int64_t epoch_ = 0;
  int64_t to_collect_ = 0;
  bool is_fresh_ = true;  // nothing was read in this pass yet
};

}  // namespace

SamplerPtr dynamic_bucketing_sampler(StreamPtr source, const DynamicBucketingOptions& options) {
  S2S_ASSERT(options.buffer_size > 0 && options.bucket_group > 0, "a buffer, a group");
  return std::make_unique<DynamicBucketingSampler>(std::move(source), options);
}

}  // namespace s2s::data
