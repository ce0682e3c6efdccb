// Reads cuts of a Lhotse Shar set, one shard after the other.

#include <numeric>

#include "base/fnv.h"
#include "shar/shar_set.h"
#include "streams/leaf_streams.h"
#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

SharShards shards_of(const InputFiles& files, const InputAttributes& attributes, bool only_cuts) {
  if (files.directory.empty()) {
    return {files.manifests, only_cuts ? decltype(SharShards::fields){} : files.fields};
  }
  const bool is_lenient = attributes.on_bad != nullptr;
  if (only_cuts) return list_shar(files.directory, std::vector<std::string>{}, is_lenient);
  return list_shar(files.directory, {}, is_lenient);
}

SharSet open_set(const InputFiles& files, const InputAttributes& attributes) {
  files::OpenOptions open;
  open.on_damage = attributes.on_bad;
  return SharSet(shards_of(files, attributes, attributes.metadata_only), open);
}

class SharStream : public LeafStream {
 public:
  SharStream(const InputFiles& files, const InputAttributes& attributes)
      : LeafStream(attributes.on_bad),
        set_(open_set(files, attributes)),
        is_shuffled_(!attributes.keep_order),
        seed_(attributes.shard_seed),
        slice_length_(attributes.slice_length) {
    rewind(0);
  }

  void rewind(int64_t epoch) override {
    epoch_ = epoch;
    order_.resize(static_cast<size_t>(set_.num_shards()));
    std::iota(order_.begin(), order_.end(), 0);
    if (is_shuffled_) PythonRandom(seed_ + epoch).shuffle(order_);
    slices_ = PythonRandom(seed_ + epoch);
    position_ = 0;
    row_ = 0;
    end_ = -1;
  }

  StreamState state() const override {
    StreamState state = {{"epoch", epoch_}, {"shard", position_}, {"row", row_}, {"end", end_}};
    if (slice_length_) state["slices"] = slices_.state();
    return state;
  }

  void restore(const StreamState& state) override {
    rewind(state_field<int64_t>(state, "epoch"));
    position_ = state_field<size_t>(state, "shard");
    row_ = state_field<int64_t>(state, "row");
    end_ = state_field<int64_t>(state, "end");
    if (position_ > order_.size() || row_ < 0) {
      throw stream_errors::damaged_state("it is after the end of the shards");
    }
    if (slice_length_) slices_.restore(state_field<std::string>(state, "slices"));
  }

  CutPtr make(CutKeyView key) const override {
    S2S_ASSERT(key.size() == 3, "a key of this stream is [shard, row, epoch]");
    return std::make_shared<const Cut>(set_.cut(key[0], key[1], key[2]));
  }

  uint64_t fingerprint() const override {
    uint64_t hash = set_.fingerprint();
    // The 1 and the last two numbers are values of former options; they keep saved positions valid.
    for (const int64_t number : {int64_t{is_shuffled_}, is_shuffled_ ? seed_ : 0, int64_t{1},
                                 slice_length_.value_or(0), int64_t{0}, int64_t{1}}) {
      hash = fnv1a(std::to_string(number), hash);
    }
    return hash;
  }

 protected:
  std::optional<CutKey> next_row() override {
    for (; position_ < order_.size(); ++position_, end_ = -1) {
      if (end_ < 0) enter_shard();
      if (row_ < end_) return CutKey{order_[position_], row_++, epoch_};
    }
    return std::nullopt;
  }

 private:
  /// Sets the range of rows that the shard at `position_` gives.
  void enter_shard() {
    const int64_t num_cuts = set_.num_cuts(order_[position_]);
    row_ = 0;
    end_ = num_cuts;
    if (slice_length_ && *slice_length_ < num_cuts) {
      row_ = slices_.randint(0, num_cuts - *slice_length_);
      end_ = row_ + *slice_length_;
    }
  }

  SharSet set_;
  bool is_shuffled_;
  int64_t seed_;
  std::optional<int64_t> slice_length_;
  int64_t epoch_ = 0;
  std::vector<int64_t> order_;
  PythonRandom slices_;  // draws the begin of each slice
  size_t position_ = 0;  // in order_
  int64_t row_ = 0;
  int64_t end_ = -1;  // of the rows of this shard; -1: unknown yet
};

}  // namespace

StreamPtr open_shar(const InputFiles& files, const InputAttributes& attributes) {
  return std::make_unique<SharStream>(files, attributes);
}

int64_t num_shar_cuts(const InputFiles& files, const InputAttributes& attributes) {
  files::OpenOptions open;
  if (attributes.on_bad) open.on_damage = [](const Error&) {};  // readers report it
  return SharSet(shards_of(files, attributes, true), open).num_cuts();
}

}  // namespace s2s::data
