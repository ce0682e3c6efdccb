#pragma once
// What the parts of a set of cuts know of the whole.

#include <cstdint>
#include <string>

#include "loader/cut_batches.h"
#include "loader/dataset_options.h"
#include "streams/input_tree.h"

namespace s2s::data {

/// A block of options, read.
struct DatasetScope {
  const CutBatchesContext* context = nullptr;
  std::string path;  // of the block
  CutBatchesOptions options;
  int64_t seed = 0;        // options.seed as a number
  int64_t shard_seed = 0;  // options.shard_seed as a number
  bool is_finite = false;  // one pass, whatever the sources are

  bool counts_tokens() const;
};

/// Numbers of the seeds that a block writes. "randomized" is the block's seed: there is one order
/// for all ranks and threads; "trng" is the context's entropy.
class SeedReader {
 public:
  explicit SeedReader(const CutBatchesContext& context);
  /// null: `fallback`. Errors: [data/seed].
  int64_t read(const Config& node, const std::string& path, int64_t fallback);
  int64_t run_seed() const { return run_seed_; }

 private:
  const CutBatchesContext& context_;
  int64_t run_seed_;
  std::optional<int64_t> entropy_;
};

/// Number of tokens of all turns but those of noise, of their text as it is written (as NeMo:
/// marks of time count, too).
int64_t count_tokens(const Cut& cut, const Tokenizer& tokenizer);

/// Options of attributes that entries of input_cfg inherit.
InputAttributes input_attributes(const DatasetScope& scope);

}  // namespace s2s::data
