#pragma once
// What lhotse does with the last batches of a pass when there is not one for each rank. We give
// them out as they are; to compare with lhotse, tests do as it does.

#include <algorithm>
#include <deque>

#include "samplers/samplers.h"

namespace s2s::data {

/// A sampler's batches in turns of `num_ranks`. The cuts of an incomplete last turn are spread over
/// all ranks, and if they are too few, some come several times, named "ID_dupK"; with `drop_last`
/// the turn is left out.   Source: lhotse dataset/sampling/base.py CutSampler.__next__.
class LhotseTurns : public BatchSampler {
 public:
  LhotseTurns(SamplerPtr sampler, int64_t num_ranks, bool drop_last)
      : sampler_(std::move(sampler)),
        num_ranks_(static_cast<size_t>(num_ranks)),
        drop_last_(drop_last) {}

  std::optional<SampledBatch> next() override {
    if (ready_.empty()) draw_turn();
    if (ready_.empty()) return std::nullopt;
    SampledBatch batch = std::move(ready_.front());
    ready_.pop_front();
    return batch;
  }
  void rewind(int64_t epoch) override {
    sampler_->rewind(epoch);
    ready_.clear();
  }
  StreamState state() const override { return sampler_->state(); }
  void restore(const StreamState& state) override { sampler_->restore(state); }
  CutPtr make(CutKeyView key) const override { return sampler_->make(key); }
  uint64_t fingerprint() const override { return sampler_->fingerprint(); }
  SamplerCounts counts() const override { return sampler_->counts(); }

 private:
  void draw_turn() {
    while (ready_.size() < num_ranks_) {
      std::optional<SampledBatch> batch = sampler_->next();
      if (!batch) break;
      ready_.push_back(std::move(*batch));
    }
    if (ready_.empty() || ready_.size() == num_ranks_) return;
    drop_last_ ? ready_.clear() : spread();
  }

  void spread() {
    std::vector<CutItem> items;
    for (SampledBatch& batch : ready_) {
      std::move(batch.items.begin(), batch.items.end(), std::back_inserter(items));
    }
    ready_.clear();
    for (int round = 0; items.size() < num_ranks_; ++round) {
      const size_t count = std::min(num_ranks_ - items.size(), items.size());
      for (size_t i = 0; i < count; ++i) {
        auto copy = std::make_shared<Cut>(*items[i].cut);
        copy->id += "_dup" + std::to_string(round);
        items.push_back({items[i].key, std::move(copy)});
      }
    }
    for (size_t rank = 0, at = 0; rank < num_ranks_; ++rank) {
      const size_t count = items.size() / num_ranks_ + (rank < items.size() % num_ranks_ ? 1 : 0);
      const auto first = items.begin() + static_cast<std::ptrdiff_t>(at);
      ready_.emplace_back().items.assign(first, first + static_cast<std::ptrdiff_t>(count));
      at += count;
    }
  }

  SamplerPtr sampler_;
  size_t num_ranks_;
  bool drop_last_;
  std::deque<SampledBatch> ready_;
};

}  // namespace s2s::data
