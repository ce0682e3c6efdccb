#pragma once
// Opens a `train_ds` block as batches of cuts. The data source `cuts` and tools (`data inspect`,
// `bench data`) use it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loader/dataset_options.h"
#include "s2s/build_context.h"
#include "s2s/data/cuts.h"
#include "s2s/error.h"
#include "s2s/kinds/tokenizer.h"
#include "samplers/buckets.h"

namespace s2s::data {

/// The context of a block. `data_size` consecutive batches share a bucket. The tokenizer counts
/// tokens for filters and 2-D buckets. `data_rank` and `entropy` are not used.
struct CutBatchesContext : DataContext {
  bool allow_infinite = true;  // false: one pass (validation)
  /// Returns the value of seeds that say "trng": a number that is equal on all ranks and differs
  /// between starts. A saved position belongs to one such number. If it is empty, the number is 0.
  std::function<uint64_t()> draw_entropy;
  /// Added to every seed of the block; a restart that asks for another order sets it.
  uint64_t seed_shift = 0;
  /// Called for each cut that its files do not give (a broken line, a truncated shard), which is
  /// left out. Any thread may call it, and it is called each time the cut is met. If it is empty,
  /// the error is thrown.
  std::function<void(const Error&)> on_bad = {};
  /// Keeps conversations as they are (streams/prompt_cut.h) instead of making duplex dialogues.
  bool as_prompts = false;
  /// Measures cuts for `batch_duration` and for bounds of buckets, in place of seconds and tokens.
  /// If it is empty, the measure is seconds.
  CutMeasure measure = {};
};

/// A cut of a batch. It takes little memory, because its key identifies it.
struct BatchedCut {
  std::vector<int64_t> key;
  std::shared_ptr<const Cut> cut;  // null: call CutBatches::make
  int64_t first_frame = 0;         // of the row, where the cut begins
};

/// One cut, or several cuts one after the other on the frame grid (`concatenate`).
struct BatchRow {
  std::vector<BatchedCut> cuts;
  int64_t num_frames = 0;  // length of the row; 0: the duration of the only cut
};

/// A batch of the global order. Its cuts can be made from their keys in any thread.
struct BatchOfCuts {
  std::vector<BatchRow> rows;
  int64_t bucket = -1;  // -1: there are no buckets
  int64_t epoch = 0;
};

/// The batches of a set, in one order that all data ranks share. Functions that are not const are
/// called by one thread at a time.
class CutBatches {
 public:
  virtual ~CutBatches() = default;
  /// Returns the next batch of the global order, epoch after epoch, or nothing at the end of a
  /// single pass.
  virtual std::optional<BatchOfCuts> next() = 0;
  /// Returns the position as text; equal positions give equal bytes. It may take milliseconds,
  /// because it contains the keys of all waiting cuts.
  virtual std::string state() const = 0;
  /// Moves to a position without reading cuts. `""` is the first batch. The state has to come from
  /// a set with the same fingerprint.
  /// Errors: [data/state].
  virtual void restore(const std::string& state) = 0;
  /// Moves to the first batch of an epoch, for data that has changed since a state was saved.
  virtual void begin_epoch(int64_t epoch) = 0;
  /// The epoch of the batches that `next` gives.
  virtual int64_t epoch() const = 0;
  /// Changes when data or options change that the order depends on.
  virtual uint64_t fingerprint() const = 0;
  /// Makes the cut of a key. Thread-safe, also while another thread calls `next`.
  virtual std::shared_ptr<const Cut> make(const std::vector<int64_t>& key) const = 0;
  /// Opens the files again and visits every cut of one pass, source after source and without
  /// shuffling. The cuts are filtered and changed as in training. Stops when `visit` returns false.
  virtual void visit_cuts(const std::function<bool(const Cut&)>& visit) const = 0;
};

/// Opens the set of a block that has NeMo's options (input_cfg, shar_path, cuts_path,
/// batch_duration, bucket_duration_bins, ...; core/docs/start/data.md).
/// Errors: all findings of the block together.
std::unique_ptr<CutBatches> open_cut_batches(const DatasetBlock& block,
                                             const CutBatchesContext& context);
/// Reads the block and opens its set.
std::unique_ptr<CutBatches> open_cut_batches(const Config& options,
                                             const CutBatchesContext& context);

}  // namespace s2s::data
