#pragma once
// The data source `cuts`: batches from a set of cuts, prefetched by threads.

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

/// What the source needs in addition to its config block.
struct CutSourceContext {
  std::string path;                      // of the block ("data.train_ds"), for messages
  std::string base_dir = ".";            // of relative paths
  const Config* data = nullptr;          // the `data` block: frames, rates, roles; null: defaults
  const Tokenizer* tokenizer = nullptr;  // of the text channels; must outlive the source
  uint64_t seed = 0;                     // the run's seed, used when the block has none
  uint64_t entropy = 0;                  // the same on all ranks; different at every start
  int64_t data_rank = 0;                 // which batches of the shared global order this rank reads
  int64_t data_size = 1;
  std::function<void(const std::string&)> warn;
};

/// Opens and checks the data that the block of a data set names (core/docs/start/data.md). Allows
/// the shell commands that the block contains. Errors: all findings of the block together,
/// [data/no-tokenizer], and those of the first cuts (core/docs/reference/errors.md).
std::unique_ptr<DataSource> open_cut_source(const Config& block, const CutSourceContext& context);
/// Lists the options of the block.
OptionTable list_cut_source_options();

}  // namespace s2s
