#pragma once
// A data set's block with its seeds, for the functions that build its stream and sampler.

#include <cstdint>
#include <string>

#include "loader/cut_batches.h"
#include "loader/dataset_options.h"
#include "streams/input_tree.h"

namespace s2s::data {

/// A block of options after reading.
struct DatasetScope {
  const CutBatchesContext* context = nullptr;
  std::string path;  // of the block, in messages
  CutBatchesOptions options;
  int64_t seed = 0;        // options.seed as a number
  int64_t shard_seed = 0;  // options.shard_seed as a number
  bool is_finite = false;  // one pass, even of endless sources

  bool counts_tokens() const;
};

/// Converts the seeds in a block to numbers. "randomized" is the block's seed, because all ranks
/// and threads share one order. "trng" is the context's entropy.
class SeedReader {
 public:
  explicit SeedReader(const CutBatchesContext& context);
  /// Returns `fallback` for null. Errors: [data/seed].
  int64_t read(const Config& node, const std::string& path, int64_t fallback);
  int64_t run_seed() const { return run_seed_; }

 private:
  const CutBatchesContext& context_;
  int64_t run_seed_;
  std::optional<int64_t> entropy_;
};

/// Number of tokens in the texts of all turns except those of noise. As in NeMo, time marks in a
/// text count, too.
int64_t count_tokens(const Cut& cut, const Tokenizer& tokenizer);

/// Attributes that the entries of input_cfg inherit.
InputAttributes input_attributes(const DatasetScope& scope);

}  // namespace s2s::data
