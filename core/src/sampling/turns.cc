// The last turn of data ranks.   Source: lhotse dataset/sampling/base.py CutSampler.__next__.

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "s2s/error.h"
#include "sampling/samplers.h"
#include "stream/stream_parts.h"

namespace s2s::data {
namespace {

// Which of a turn's rounds of duplication a cut has gone through, as bits.
using Rounds = int64_t;

CutPtr renamed(const Cut& cut, Rounds rounds) {
  auto copy = std::make_shared<Cut>(cut);
  for (int round = 0; (rounds >> round) != 0; ++round) {
    if ((rounds >> round) & 1) copy->id += "_dup" + std::to_string(round);
  }
  return copy;
}

class TurnsSampler : public BatchSampler {
 public:
  TurnsSampler(SamplerPtr sampler, int64_t num_ranks, Tail tail)
      : sampler_(std::move(sampler)), num_ranks_(num_ranks), tail_(tail) {}

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
    dropped_ = {};
  }

  StreamState state() const override {
    StreamState ready = StreamState::array();
    for (const SampledBatch& batch : ready_) {
      ready.push_back({batch.bucket, packed_tokens(batch.items)});
    }
    return {{"sampler", sampler_->state()},
            {"ready", std::move(ready)},
            {"dropped", {dropped_.discarded_cuts, dropped_.discarded_batches}}};
  }

  void restore(const StreamState& state) override {
    sampler_->restore(state_part(state, "sampler"));
    ready_.clear();
    const StreamState& dropped = state_list(state, "dropped", 2);
    dropped_.discarded_cuts = state_value<int64_t>(dropped[0]);
    dropped_.discarded_batches = state_value<int64_t>(dropped[1]);
    for (const StreamState& batch : state_part(state, "ready")) {
      if (!batch.is_array() || batch.size() != 2) {
        throw stream_errors::damaged_state("a batch of a turn is no pair");
      }
      ready_.push_back({unpacked_tokens(state_value<std::string>(batch[1])),  //
                        state_value<int64_t>(batch[0])});
    }
  }

  CutPtr make(TokenView token) const override {
    if (tail_ == Tail::kDrop) return sampler_->make(token);
    const Rounds rounds = take_front(token, INT64_MAX);
    CutPtr cut = sampler_->make(token);
    return rounds == 0 ? cut : renamed(*cut, rounds);
  }

  uint64_t fingerprint() const override {
    // Not the number of ranks: a run may go on with another.
    return mixed_fingerprint("turns " + std::to_string(static_cast<int>(tail_)),
                             std::vector{sampler_->fingerprint()});
  }

  SamplerCounts counts() const override {
    SamplerCounts counts = sampler_->counts();
    counts.kept_cuts -= dropped_.discarded_cuts;
    counts.discarded_cuts += dropped_.discarded_cuts;
    counts.kept_batches -= dropped_.discarded_batches;
    counts.discarded_batches += dropped_.discarded_batches;
    return counts;
  }

 private:
  void draw_turn() {
    while (std::cmp_less(ready_.size(), num_ranks_)) {
      std::optional<SampledBatch> batch = sampler_->next();
      if (!batch) break;
      if (tail_ == Tail::kDuplicate) {
        for (CutItem& item : batch->items) item.token = with_front(0, std::move(item.token));
      }
      ready_.push_back(std::move(*batch));
    }
    if (ready_.empty() || std::cmp_equal(ready_.size(), num_ranks_)) return;
    tail_ == Tail::kDrop ? drop() : spread();
  }

  void drop() {
    for (const SampledBatch& batch : ready_) {
      dropped_.discarded_cuts += static_cast<int64_t>(batch.items.size());
      ++dropped_.discarded_batches;
    }
    ready_.clear();
  }

  // The cuts that are left, over all ranks.
  void spread() {
    int64_t bucket = ready_.front().bucket;
    std::vector<CutItem> items;
    for (SampledBatch& batch : ready_) {
      if (batch.bucket != bucket) bucket = -1;
      std::move(batch.items.begin(), batch.items.end(), std::back_inserter(items));
    }
    ready_.clear();
    const auto num_ranks = static_cast<size_t>(num_ranks_);
    for (int round = 0; items.size() < num_ranks; ++round) {
      const size_t count = std::min(num_ranks - items.size(), items.size());
      for (size_t i = 0; i < count; ++i) items.push_back(duplicate(items[i], round));
    }
    for (size_t rank = 0, at = 0; rank < num_ranks; ++rank) {
      const size_t count = items.size() / num_ranks + (rank < items.size() % num_ranks ? 1 : 0);
      SampledBatch& batch = ready_.emplace_back();
      batch.bucket = bucket;
      const auto first = items.begin() + static_cast<std::ptrdiff_t>(at);
      batch.items.assign(first, first + static_cast<std::ptrdiff_t>(count));
      at += count;
    }
  }

  static CutItem duplicate(CutItem item, int round) {
    item.token[0] |= Rounds{1} << round;
    if (item.cut) item.cut = renamed(*item.cut, Rounds{1} << round);
    return item;
  }

  SamplerPtr sampler_;
  int64_t num_ranks_;
  Tail tail_;
  std::deque<SampledBatch> ready_;
  SamplerCounts dropped_;
};

}  // namespace

SamplerPtr in_turns(SamplerPtr sampler, int64_t num_ranks, Tail tail) {
  S2S_ASSERT(num_ranks > 0, "a rank");
  if (tail == Tail::kKeep) return sampler;
  return std::make_unique<TurnsSampler>(std::move(sampler), num_ranks, tail);
}

}  // namespace s2s::data
