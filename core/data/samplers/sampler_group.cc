// Combines several samplers: takes turns between them, or joins their batches.
// Source: lhotse dataset/sampling/round_robin.py, zip.py.

#include <fmt/format.h>

#include <numeric>
#include <vector>

#include "samplers/samplers.h"
#include "streams/numpy_random.h"
#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

/// A sampler that combines several others.
class SamplerGroup : public BatchSampler {
 public:
  explicit SamplerGroup(std::vector<SamplerPtr> samplers) : samplers_(std::move(samplers)) {}
  void rewind(int64_t epoch) override;
  StreamState state() const override;
  void restore(const StreamState& state) override;
  CutPtr make(CutKeyView key) const override;
  SamplerCounts counts() const override;

 protected:
  /// Returns the sampler's next batch, and puts the sampler's number in front of the keys.
  std::optional<SampledBatch> next_of(size_t number);
  size_t size() const { return samplers_.size(); }
  uint64_t mixed_with(const std::string& own) const;

 private:
  std::vector<SamplerPtr> samplers_;
};

SamplerCounts operator+(const SamplerCounts& a, const SamplerCounts& b) {
  return {a.kept_cuts + b.kept_cuts, a.discarded_cuts + b.discarded_cuts,
          a.kept_batches + b.kept_batches, a.discarded_batches + b.discarded_batches};
}

void SamplerGroup::rewind(int64_t epoch) {
  for (const SamplerPtr& sampler : samplers_) sampler->rewind(epoch);
}

StreamState SamplerGroup::state() const {
  StreamState states = StreamState::array();
  for (const SamplerPtr& sampler : samplers_) states.push_back(sampler->state());
  return {{"samplers", std::move(states)}};
}

void SamplerGroup::restore(const StreamState& state) {
  const StreamState& states = state_list(state, "samplers", samplers_.size());
  for (size_t i = 0; i < samplers_.size(); ++i) samplers_[i]->restore(states[i]);
}

CutPtr SamplerGroup::make(CutKeyView key) const {
  const int64_t number = take_front(key, static_cast<int64_t>(samplers_.size()));
  return samplers_[static_cast<size_t>(number)]->make(key);
}

SamplerCounts SamplerGroup::counts() const {
  SamplerCounts sum;
  for (const SamplerPtr& sampler : samplers_) sum = sum + sampler->counts();
  return sum;
}

std::optional<SampledBatch> SamplerGroup::next_of(size_t number) {
  std::optional<SampledBatch> batch = samplers_[number]->next();
  if (!batch) return std::nullopt;
  for (CutItem& item : batch->items) {
    item.key = with_front(static_cast<int64_t>(number), std::move(item.key));
  }
  return batch;
}

uint64_t SamplerGroup::mixed_with(const std::string& own) const {
  std::vector<uint64_t> numbers;
  for (const SamplerPtr& sampler : samplers_) numbers.push_back(sampler->fingerprint());
  return mixed_fingerprint(own, numbers);
}

class RoundRobinSampler : public SamplerGroup {
 public:
  RoundRobinSampler(std::vector<SamplerPtr> samplers, const RoundRobinOptions& options)
      : SamplerGroup(std::move(samplers)),
        options_(options),
        weights_(checked_weights(options.weights, size())) {
    if (options.weights.empty()) weights_.assign(size(), 1.0 / static_cast<double>(size()));
    begin(0);
  }

  std::optional<SampledBatch> next() override {
    while (!active_.empty()) {
      if (std::optional<SampledBatch> batch = next_of(active_[at_])) {
        if (--left_in_turn_ == 0) begin_turn();
        return batch;
      }
      active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(at_));
      if (!active_.empty()) choose();
    }
    return std::nullopt;
  }

  void rewind(int64_t epoch) override {
    SamplerGroup::rewind(epoch);
    begin(epoch);
  }

  StreamState state() const override {
    StreamState state = SamplerGroup::state();
    state["rng"] = rng_.state();
    state["active"] = active_;
    state["at"] = at_;
    state["left_in_turn"] = left_in_turn_;
    return state;
  }

  void restore(const StreamState& state) override {
    SamplerGroup::restore(state);
    rng_.restore(state_field<std::string>(state, "rng"));
    active_ = state_field<std::vector<size_t>>(state, "active");
    at_ = state_field<size_t>(state, "at");
    left_in_turn_ = std::min(state_field<int64_t>(state, "left_in_turn"), options_.num_ranks);
    for (const size_t number : active_) {
      if (number >= size()) throw stream_errors::damaged_state("no such sampler");
    }
    if (!active_.empty() && at_ >= active_.size()) {
      throw stream_errors::damaged_state("a choice beyond the samplers");
    }
  }

  uint64_t fingerprint() const override {
    std::string own = fmt::format("round_robin false {} {}", options_.randomize, options_.seed);
    for (const double weight : options_.weights) own += fmt::format(" {}", weight);
    return mixed_with(own);
  }

 private:
  bool is_random() const { return options_.randomize || !options_.weights.empty(); }

  void begin(int64_t epoch) {
    rng_.seed(static_cast<uint64_t>(options_.seed + epoch));
    active_.resize(size());
    std::iota(active_.begin(), active_.end(), size_t{0});
    at_ = 0;
    left_in_turn_ = options_.num_ranks;
  }

  void begin_turn() {
    choose();
    left_in_turn_ = options_.num_ranks;
  }

  // at_ is an index into active_.
  void choose() {
    if (!is_random() || active_.size() == 1) {
      at_ = (at_ + 1) % active_.size();
      return;
    }
    std::vector<double> probabilities;
    for (const size_t number : active_) probabilities.push_back(weights_[number]);
    const double sum = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
    for (double& probability : probabilities) probability /= sum;
    at_ = rng_.choice(probabilities);
  }

  RoundRobinOptions options_;
  std::vector<double> weights_;
  NumpyGenerator rng_;
  std::vector<size_t> active_;  // samplers that have not ended
  size_t at_ = 0;
  int64_t left_in_turn_ = 1;
};

class ZipSampler : public SamplerGroup {
 public:
  using SamplerGroup::SamplerGroup;

  std::optional<SampledBatch> next() override {
    SampledBatch joined;
    for (size_t number = 0; number < size(); ++number) {
      std::optional<SampledBatch> batch = next_of(number);
      if (!batch) return std::nullopt;
      std::move(batch->items.begin(), batch->items.end(), std::back_inserter(joined.items));
    }
    return joined;
  }

  uint64_t fingerprint() const override { return mixed_with("zip"); }
};

}  // namespace

SamplerPtr round_robin_sampler(std::vector<SamplerPtr> samplers, const RoundRobinOptions& options) {
  S2S_ASSERT(!samplers.empty() && options.num_ranks > 0, "something to choose from, a rank");
  return std::make_unique<RoundRobinSampler>(std::move(samplers), options);
}

SamplerPtr zip_sampler(std::vector<SamplerPtr> samplers) {
  S2S_ASSERT(!samplers.empty(), "something to join");
  return std::make_unique<ZipSampler>(std::move(samplers));
}

}  // namespace s2s::data
