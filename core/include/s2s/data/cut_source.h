#pragma once
// The data source `cuts`: batches from a set of cuts, prefetched by threads.

#include <memory>

#include "s2s/build_context.h"
#include "s2s/config.h"
#include "s2s/data/fingerprint.h"
#include "s2s/kinds/data_source.h"
#include "s2s/options.h"

namespace s2s {

/// Opens and checks the set that a data set's block names (core/docs/start/data.md). Allows the
/// commands in the block. The tokenizer must outlive the source.
/// Errors: all findings of the block together, [data/no-tokenizer], those of the set's first cuts.
std::unique_ptr<DataSource> open_cut_source(const Config& block, const DataContext& context);
/// The options of a block.
OptionTable list_cut_source_options();

}  // namespace s2s
