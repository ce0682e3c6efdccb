#pragma once
// The data source `cuts`: batches of a set of cuts, loaded ahead by threads.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "s2s/config.h"
#include "s2s/data/fingerprint.h"
#include "s2s/kinds/data_source.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s/options.h"

namespace s2s {

/// What the source needs beside its block.
struct CutSourceContext {
  std::string path;                      // of the block ("data.train_ds"), for messages
  std::string base_dir = ".";            // of relative paths
  const Config* data = nullptr;          // the `data` block: frames, rates, roles; null: defaults
  const Tokenizer* tokenizer = nullptr;  // of the text channels; has to live on
  uint64_t seed = 0;                     // of the run, where the block has none
  uint64_t entropy = 0;                  // the same on all ranks, another at every start
  int64_t data_rank = 0;                 // whose batches of the order that all data ranks share
  int64_t data_size = 1;
  std::function<void(const std::string&)> warn;
};

/// Opens and checks the set that a data set's block names (core/docs/start/data.md). Allows the
/// commands that stand in the block. Errors: all findings of the block together,
/// [data/no-tokenizer], and those of the set's first cuts (core/docs/reference/errors.md).
std::unique_ptr<DataSource> open_cut_source(const Config& block, const CutSourceContext& context);
/// The options of a block.
OptionTable list_cut_source_options();

}  // namespace s2s
