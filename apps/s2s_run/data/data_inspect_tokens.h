#pragma once
// `data inspect` of a run whose batches are text: lengths, labels, padding.

#include "s2s/kinds/tokenizer.h"
#include "s2s_run/data/data_inspect_source.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

/// True for a run's block that names no cuts: its batches are made by another data source.
bool has_other_source(const DataSet& set);

/// Reads one pass of the set's batches and prints what is in them. Errors: those of the source.
int inspect_tokens(const DataSet& set, const Tokenizer& tokenizer, const Invocation& invocation,
                   int64_t batch = 0);

}  // namespace s2s::run
