#pragma once
// Tells at the start of a run how much of its text the tokenizer does not know.

#include <functional>
#include <memory>
#include <string>

#include "s2s/kinds/data_source.h"
#include "s2s/kinds/tokenizer.h"

namespace s2s::run {

/// A source that gives the batches of `source`. Counts the unknown tokens of the first ones, and
/// calls `warn` once with [data/unknown-text] if they are more than one in twenty. Returns `source`
/// itself if the tokenizer is null, knows every text, or writes what it does not know as PAD.
std::unique_ptr<DataSource> telling_unknown_text(
    std::unique_ptr<DataSource> source, const Tokenizer* tokenizer,
    std::function<void(const std::string& message)> warn);

}  // namespace s2s::run
