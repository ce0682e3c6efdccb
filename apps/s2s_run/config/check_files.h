#pragma once
// The part of `config check` that opens files.

#include <string>

#include "run/run_config.h"

namespace s2s::run {

/// Opens what a training run opens before its first step, as far as it is small and nothing is made
/// or run by it: the tokenizer, config.json and the headers of pretrained weights, the first cut of
/// each data set; compares bytes with the machine's. `check`: of `config`, for training, without
/// findings; gets those of the files, and warnings.
void check_files(const RunConfig& config, RunCheck& check);

}  // namespace s2s::run
