#pragma once
// The data source `text`: documents of JSONL files as batches of tokens.

#include <memory>

#include "s2s/build_context.h"
#include "s2s/config.h"
#include "s2s/data/fingerprint.h"
#include "s2s/kinds/data_source.h"
#include "s2s/options.h"

namespace s2s {

/// Opens the files that a data set's block names and checks their first lines
/// (core/docs/reference/data_text.md). Allows the commands in the block. The tokenizer must outlive
/// the source. Batches have text_BT, text_labels_BT, documents and ids.
/// Errors: all findings of the block together, [data/text-path], [data/no-tokenizer],
/// [tokenizer/special-ids], those of files and lines.
std::unique_ptr<DataSource> open_text_source(const Config& block, const DataContext& context);
/// The options of a block.
OptionTable list_text_source_options();

}  // namespace s2s
