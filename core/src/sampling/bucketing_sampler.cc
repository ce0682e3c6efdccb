// BucketingSampler: all cuts are held, in buckets of equal total length.
// Source: lhotse dataset/sampling/bucketing.py.

#include <fmt/format.h>

#include <algorithm>

#include "sampling/pairwise_sum.h"
#include "sampling/sampler_group.h"
#include "sampling/simple_cut_sampler.h"

namespace s2s::data {
namespace {

// Buckets are filled from both ends of the sorted cuts, the left ones with short cuts, the right
// ones with long cuts, until both meet in the middle.
class BucketFiller {
 public:
  BucketFiller(int64_t num_buckets, double share)
      : share_(share),
        lengths_(static_cast<size_t>(num_buckets)),
        last_(num_buckets - 1),
        num_buckets_(num_buckets) {}

  size_t next_from_left(double length) {
    find_middle();
    if (is_over(first_, length)) {
      first_ = first_ == middle_ ? std::clamp(middle_ - 1, int64_t{0}, num_buckets_ - 1)
                                 : std::min(first_ + 1, num_buckets_ - 1);
    }
    return put(first_, length);
  }

  size_t next_from_right(double length) {
    find_middle();
    if (is_over(last_, length)) {
      // Beyond the last bucket lhotse fails; here the last takes what is over.
      last_ = last_ == middle_ ? std::min(middle_ + 1, num_buckets_ - 1)
                               : std::max(last_ - 1, int64_t{0});
    }
    return put(last_, length);
  }

 private:
  void find_middle() {
    if (middle_ < 0 && first_ == last_) middle_ = first_;
  }
  bool is_over(int64_t bucket, double length) const {
    return lengths_[static_cast<size_t>(bucket)] + length > share_;
  }
  size_t put(int64_t bucket, double length) {
    lengths_[static_cast<size_t>(bucket)] += length;
    return static_cast<size_t>(bucket);
  }

  double share_;
  std::vector<double> lengths_;
  int64_t first_ = 0;
  int64_t last_;
  int64_t num_buckets_;
  int64_t middle_ = -1;  // -1: the two have not met
};

// Bucket of each item of a sorted list.
std::vector<size_t> bucket_of_each(const std::vector<SizedItem>& items, int64_t num_buckets) {
  std::vector<double> lengths;
  for (const SizedItem& item : items) lengths.push_back(item.size.length);
  BucketFiller filler(num_buckets, pairwise_sum(std::span<const double>(lengths)) /
                                       static_cast<double>(num_buckets));
  std::vector<size_t> buckets(items.size());
  for (size_t left = 0, right = items.size(); left < right; ++left) {
    buckets[left] = filler.next_from_left(lengths[left]);
    if (left + 1 == right) break;
    --right;
    buckets[right] = filler.next_from_right(lengths[right]);
  }
  return buckets;
}

std::vector<std::vector<SizedItem>> in_buckets(std::vector<SizedItem> items, int64_t num_buckets) {
  std::stable_sort(items.begin(), items.end(), [](const SizedItem& a, const SizedItem& b) {
    return a.size.length < b.size.length;
  });
  const std::vector<size_t> buckets = bucket_of_each(items, num_buckets);
  std::vector<std::vector<SizedItem>> parts(static_cast<size_t>(num_buckets));
  for (size_t i = 0; i < items.size(); ++i) parts[buckets[i]].push_back(std::move(items[i]));
  return parts;
}

class BucketingSampler : public BatchSampler {
 public:
  BucketingSampler(StreamPtr source, const BucketingOptions& options)
      : stream_(std::make_shared<SizedStream>(std::move(source), options)), options_(options) {
    std::optional<int64_t> seed;
    if (options.shuffle) seed = options.seed;
    for (auto& items : in_buckets(all_items(*stream_), options.num_buckets)) {
      auto bucket = std::make_unique<SimpleCutSampler>(
          stream_, eager_supply(std::move(items), seed), options, "bucket");
      simple_.push_back(bucket.get());
      buckets_.push_back(in_turns(std::move(bucket), options.num_ranks, options.tail));
    }
    rewind(0);
  }

  std::optional<SampledBatch> next() override {
    while (true) {
      if (left_in_turn_ == 0 || has_ended_[bucket_]) {
        const std::vector<size_t> candidates = left_over();
        if (candidates.empty()) return std::nullopt;
        bucket_ = chosen(candidates);
        if (left_in_turn_ == 0) left_in_turn_ = options_.num_ranks;
      }
      if (std::optional<SampledBatch> batch = buckets_[bucket_]->next()) {
        --left_in_turn_;
        batch->bucket = static_cast<int64_t>(bucket_);
        return batch;
      }
      has_ended_[bucket_] = true;
    }
  }

  void rewind(int64_t epoch) override {
    rng_.seed(options_.bucket_seed + epoch);
    for (const SamplerPtr& bucket : buckets_) bucket->rewind(epoch);
    has_ended_.assign(buckets_.size(), false);
    bucket_ = 0;
    left_in_turn_ = 0;
  }

  StreamState state() const override {
    StreamState buckets = StreamState::array();
    for (const SamplerPtr& bucket : buckets_) buckets.push_back(bucket->state());
    return {{"rng", rng_.state()},
            {"ended", has_ended_},
            {"bucket", bucket_},
            {"left_in_turn", left_in_turn_},
            {"buckets", std::move(buckets)}};
  }

  void restore(const StreamState& state) override {
    const StreamState& buckets = state_list(state, "buckets", buckets_.size());
    state_list(state, "ended", buckets_.size());
    rng_.restore(state_field<std::string>(state, "rng"));
    has_ended_ = state_field<std::vector<bool>>(state, "ended");
    bucket_ = state_field<size_t>(state, "bucket");
    // The turn of a state of other ranks ends here: the next batch is of a newly drawn bucket.
    left_in_turn_ = std::min(state_field<int64_t>(state, "left_in_turn"), options_.num_ranks);
    if (bucket_ >= buckets_.size()) throw stream_errors::damaged_state("no such bucket");
    for (size_t i = 0; i < buckets_.size(); ++i) buckets_[i]->restore(buckets[i]);
  }

  // All buckets make what a token says alike.
  CutPtr make(TokenView token) const override { return buckets_[0]->make(token); }

  uint64_t fingerprint() const override {
    return mixed_fingerprint(
        fmt::format("bucketing {} {}", options_.num_buckets, options_.bucket_seed),
        std::vector{buckets_[0]->fingerprint()});
  }

  SamplerCounts counts() const override {
    SamplerCounts sum;
    for (const SamplerPtr& bucket : buckets_) sum = sum + bucket->counts();
    return sum;
  }

 private:
  std::vector<size_t> left_over() const {
    std::vector<size_t> buckets;
    for (size_t i = 0; i < buckets_.size(); ++i) {
      if (!has_ended_[i]) buckets.push_back(i);
    }
    return buckets;
  }

  // Of two that are drawn, rather the one that has more left.
  size_t chosen(const std::vector<size_t>& candidates) {
    if (candidates.size() == 1) return candidates[0];
    const size_t one = candidates[rng_.choice(candidates.size())];
    const size_t other = candidates[rng_.choice(candidates.size())];
    const double left_in_one = simple_[one]->remaining_length();
    const double left_in_both = left_in_one + simple_[other]->remaining_length();
    if (left_in_both == 0) return one;
    return rng_.random() > left_in_one / left_in_both ? other : one;
  }

  std::shared_ptr<SizedStream> stream_;
  BucketingOptions options_;
  std::vector<SamplerPtr> buckets_;
  std::vector<SimpleCutSampler*> simple_;  // inside of buckets_
  std::vector<bool> has_ended_;
  PythonRandom rng_;
  size_t bucket_ = 0;
  int64_t left_in_turn_ = 0;
};

}  // namespace

SamplerPtr bucketing_sampler(StreamPtr source, const BucketingOptions& options) {
  S2S_ASSERT(options.num_buckets > 0 && options.num_ranks > 0, "a bucket, a rank");
  return std::make_unique<BucketingSampler>(std::move(source), options);
}

}  // namespace s2s::data
