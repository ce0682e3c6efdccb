#pragma once
// From a `train_ds` block to batches of cuts: what the data source `cuts` is made of, and what
// tools
// (`data inspect`, `bench data`) share with it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/cuts.h"
#include "s2s/tokenizer.h"

namespace s2s {

/// What a block of options is opened with.
struct CutBatchesContext {
  std::string path;                      // "data.train_ds", for messages
  std::string base_dir = ".";            // of relative paths
  uint64_t seed = 0;                     // of the run, where the block has none
  int64_t data_size = 1;                 // data ranks: consecutive batches that share a bucket
  const Tokenizer* tokenizer = nullptr;  // token counts for filters and 2-D buckets
  bool allow_infinite = true;            // false: one pass (validation)
  std::function<void(const std::string&)> warn;
};

/// A batch of the global order, cheap to hold; its cuts are made from its tokens, in any thread.
struct BatchOfCuts {
  std::vector<std::vector<int64_t>> tokens;
  std::vector<std::shared_ptr<const Cut>> cuts;  // null: CutBatches::make
  int64_t bucket = -1;
  int64_t epoch = 0;
};

/// The batches of a set in one order that every data rank shares. One thread calls next, state,
/// restore.
class CutBatches {
 public:
  virtual ~CutBatches();
  virtual std::optional<BatchOfCuts> next() = 0;
  /// A short text. `restore` of it (or of "", the beginning) makes the following batches identical.
  virtual std::string state() const = 0;
  virtual void restore(const std::string& state) = 0;
  /// Thread-safe.
  virtual std::shared_ptr<const Cut> make(const std::vector<int64_t>& token) const = 0;
  /// Epoch whose batches `next` gives.
  virtual int64_t epoch() const = 0;
};

/// `options` is a data set's block in NeMo's terms (input_cfg, shar_path, cuts_path,
/// batch_duration, bucket_duration_bins, ...; core/docs/data.md). Errors: all findings of the block
/// together.
std::unique_ptr<CutBatches> open_cut_batches(const Config& options,
                                             const CutBatchesContext& context);

}  // namespace s2s
