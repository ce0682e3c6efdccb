#include "streams/shar_stream.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/fnv.h"
#include "s2s/error.h"
#include "streams/stream_parts.h"

namespace s2s::data {

SharStream::SharStream(SharStreamOptions options) : options_(std::move(options)) { rewind(0); }

int64_t SharStream::pass_seed() const {
  return options_.seed + (options_.stateful_shuffle ? epoch_ : 0);
}

void SharStream::order_shards() {
  std::vector<int64_t> all(static_cast<size_t>(options_.set->num_shards()));
  std::iota(all.begin(), all.end(), 0);
  if (options_.shuffle_shards) PythonRandom(pass_seed()).shuffle(all);
  order_.clear();
  for (auto i = static_cast<size_t>(options_.split_rank); i < all.size();
       i += static_cast<size_t>(options_.split_size)) {
    order_.push_back(all[i]);
  }
}

void SharStream::rewind(int64_t epoch) {
  epoch_ = epoch;
  order_shards();
  slices_ = PythonRandom(pass_seed());
  position_ = 0;
  row_ = 0;
  end_ = -1;
}

/// Decides which rows of the shard at `position_` are given.
void SharStream::enter_shard() {
  const int64_t num_cuts = options_.set->num_cuts(order_[position_]);
  row_ = 0;
  end_ = num_cuts;
  if (options_.slice_length && *options_.slice_length < num_cuts) {
    row_ = slices_.randint(0, num_cuts - *options_.slice_length);
    end_ = row_ + *options_.slice_length;
  }
}

std::optional<CutItem> SharStream::next() {
  for (; position_ < order_.size(); ++position_, end_ = -1) {
    if (end_ < 0) enter_shard();
    while (row_ < end_) {
      // Counted before it is made: whoever leaves out a cut that is bad goes on behind it.
      CutItem item{{order_[position_], row_++, epoch_}, nullptr};
      if (is_good(options_.on_bad, [&] { item.cut = make(item.token); })) return item;
    }
  }
  return std::nullopt;
}

std::shared_ptr<const Cut> SharStream::make(CutKeyView token) const {
  S2S_ASSERT(token.size() == 3, "a token of this stream is [shard, row, epoch]");
  return std::make_shared<const Cut>(options_.set->cut(token[0], token[1], token[2]));
}

StreamState SharStream::state() const {
  StreamState state = {{"epoch", epoch_}, {"shard", position_}, {"row", row_}, {"end", end_}};
  if (options_.slice_length) state["slices"] = slices_.state();
  return state;
}

void SharStream::restore(const StreamState& state) {
  rewind(state_field<int64_t>(state, "epoch"));
  position_ = state_field<size_t>(state, "shard");
  row_ = state_field<int64_t>(state, "row");
  end_ = state_field<int64_t>(state, "end");
  if (position_ > order_.size() || row_ < 0) {
    throw stream_errors::damaged_state("it is behind the end of the shards");
  }
  if (options_.slice_length) slices_.restore(state_field<std::string>(state, "slices"));
}

uint64_t SharStream::fingerprint() const {
  uint64_t hash = options_.set->fingerprint();
  for (const int64_t number :
       {int64_t{options_.shuffle_shards}, options_.shuffle_shards ? options_.seed : 0,
        int64_t{options_.stateful_shuffle}, options_.slice_length.value_or(0), options_.split_rank,
        options_.split_size}) {
    hash = fnv1a(std::to_string(number), hash);
  }
  return hash;
}

}  // namespace s2s::data
