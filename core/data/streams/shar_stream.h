#pragma once
// Cuts of a Lhotse Shar set, a shard after the other.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shar/shar_set.h"
#include "streams/cut_stream.h"
#include "streams/python_random.h"

namespace s2s::data {

struct SharStreamOptions {
  std::shared_ptr<const SharSet> set;
  bool shuffle_shards = false;
  int64_t seed = 42;
  /// Each pass has another order: that of seed + epoch.
  bool stateful_shuffle = true;
  /// From each shard only so many cuts, one behind the other, from a drawn one on.
  std::optional<int64_t> slice_length;
  /// Of the order, every split_size-th shard from split_rank on (Lhotse's split_for_dataloading).
  int64_t split_rank = 0;
  int64_t split_size = 1;
  /// Told of each row that is bad, which is passed over. Empty: it is thrown.
  files::OnBad on_bad = {};
};

/// Token: [shard, row, epoch]. The order of cuts is that of lhotse's CutSet.from_shar with the same
/// options.   Source: lhotse LazySharIterator.
class SharStream : public CutStream {
 public:
  explicit SharStream(SharStreamOptions options);

  std::optional<CutItem> next() override;
  void rewind(int64_t epoch) override;
  StreamState state() const override;
  void restore(const StreamState& state) override;
  std::shared_ptr<const Cut> make(CutKeyView token) const override;
  uint64_t fingerprint() const override;

 private:
  int64_t pass_seed() const;
  void order_shards();
  void enter_shard();

  SharStreamOptions options_;
  int64_t epoch_ = 0;
  std::vector<int64_t> order_;
  PythonRandom slices_;  // draws where slices begin
  size_t position_ = 0;  // in order_
  int64_t row_ = 0;
  int64_t end_ = -1;  // of the rows of this shard; -1: not known yet
};

}  // namespace s2s::data
