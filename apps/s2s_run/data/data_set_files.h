#pragma once
// Opens the files of a data set without a tokenizer.

#include <string>

#include "s2s/config.h"

namespace s2s::run {

/// Opens the files of a set that names cuts or texts, and reads the first cut. Other sets: nothing.
/// `path`: place of `block`. Errors: those of opening and reading them, [data/empty].
void open_set_files(const std::string& path, const Config& block);

}  // namespace s2s::run
