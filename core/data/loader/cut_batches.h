#pragma once
// From a `train_ds` block to batches of cuts: what the data source `cuts` is made of, and what
// tools (`data inspect`, `bench data`) share with it.

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

/// What a block of options is opened with. `data_size` consecutive batches share a bucket; the
/// tokenizer counts tokens for filters and 2-D buckets; `data_rank` and `entropy` are not used.
struct CutBatchesContext : DataContext {
  bool allow_infinite = true;  // false: one pass (validation)
  /// For seeds that say "trng": a number that is the same on all ranks, another at every start. A
  /// position is one of the order that it led to. Empty: 0.
  std::function<uint64_t()> draw_entropy;
  /// Added to every seed of the block: another order for each restart that asks for it.
  uint64_t seed_shift = 0;
  /// Told of each cut that its files do not give (a line that is none, a shard that is cut off),
  /// which is left out. By any thread, and again whenever it is met. Empty: it is thrown.
  std::function<void(const Error&)> on_bad = {};
  /// Conversations stay what they are (streams/prompt_cut.h), in place of duplex dialogues.
  bool as_prompts = false;
  /// What counts for the size of batches, in place of seconds and tokens (`batch_duration` and the
  /// bounds of buckets). Empty: seconds.
  CutMeasure measure = {};
};

/// A cut of a batch, cheap to hold: its key names it.
struct BatchedCut {
  std::vector<int64_t> key;
  std::shared_ptr<const Cut> cut;  // null: CutBatches::make has it
  int64_t first_frame = 0;         // of the row, where it begins
};

/// One cut as it is, or several one after the other on the frame grid (`concatenate`).
struct BatchRow {
  std::vector<BatchedCut> cuts;
  int64_t num_frames = 0;  // whole length; 0: the only cut's own duration
};

/// A batch of the global order; its cuts are made from their keys, in any thread.
struct BatchOfCuts {
  std::vector<BatchRow> rows;
  int64_t bucket = -1;  // -1: no buckets
  int64_t epoch = 0;
};

/// The batches of a set in one order that every data rank shares. One thread at a time calls what
/// is not const.
class CutBatches {
 public:
  virtual ~CutBatches() = default;
  /// The next batch of the global order, epoch after epoch; nothing at the end of one pass.
  virtual std::optional<BatchOfCuts> next() = 0;
  /// A text of what `next` gives from here on, the same bytes whenever the position is the same.
  /// May take a while (milliseconds): keys of all waiting cuts.
  virtual std::string state() const = 0;
  /// Instant. `""`: the first batch. The state is one of the same fingerprint.
  /// Errors: [data/state].
  virtual void restore(const std::string& state) = 0;
  /// Goes to the first batch of an epoch, for data that has changed since a state was written.
  virtual void begin_epoch(int64_t epoch) = 0;
  /// Epoch whose batches `next` gives.
  virtual int64_t epoch() const = 0;
  /// Changes when data or options do that the order depends on.
  virtual uint64_t fingerprint() const = 0;
  /// Safe from several threads, also while another calls `next`.
  virtual std::shared_ptr<const Cut> make(const std::vector<int64_t>& key) const = 0;
  /// Every cut of one pass, filtered and changed as in training, source after source, not shuffled,
  /// until `visit` returns false. Opens the files anew.
  virtual void visit_cuts(const std::function<bool(const Cut&)>& visit) const = 0;
};

/// Opens the set of a block in NeMo's terms (input_cfg, shar_path, cuts_path, batch_duration,
/// bucket_duration_bins, ...; core/docs/start/data.md). Errors: all findings of the block together.
std::unique_ptr<CutBatches> open_cut_batches(const DatasetBlock& block,
                                             const CutBatchesContext& context);
/// Reads the block, too.
std::unique_ptr<CutBatches> open_cut_batches(const Config& options,
                                             const CutBatchesContext& context);

}  // namespace s2s::data
