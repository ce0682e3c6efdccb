#pragma once
// Warns at the start of a run if the tokenizer does not know much of its text.

#include <functional>
#include <memory>
#include <string>

#include "s2s/kinds/data_source.h"
#include "s2s/kinds/tokenizer.h"

namespace s2s::run {

/// Returns a source with the batches of `source`. Counts the unknown tokens of the first batches,
/// and calls `warn` once with [data/unknown-text] if they are more than one in twenty. Returns
/// `source` itself if the tokenizer is null, knows every text, or writes unknown text as PAD.
std::unique_ptr<DataSource> telling_unknown_text(
    std::unique_ptr<DataSource> source, const Tokenizer* tokenizer,
    std::function<void(const std::string& message)> warn);

}  // namespace s2s::run
