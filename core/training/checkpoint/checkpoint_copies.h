#pragma once
// A checkpoint contains copies of the small files that a configuration names by path. It can then
// be used even when the original files have moved.

#include <string>
#include <vector>

#include "s2s/config.h"

namespace s2s {

/// Folders in a run folder and in each checkpoint: the tokenizer's files; config.json, which sets
/// the sizes of the language model, and its generation defaults.
inline constexpr char kTokenizerCopy[] = "tokenizer";
inline constexpr char kLlmCopy[] = "llm";
inline constexpr char kGenerationConfig[] = "generation_config.json";

/// Returns `config` with `model.tokenizer.path`, and `model.llm.path` or `model.path`, replaced by
/// the copies in `checkpoint` (a folder, or ""), where they exist.
Config with_checkpoint_copies(Config config, const std::string& checkpoint);

/// The config.json next to the weights that `model.llm.path` or `model.path` names, and
/// generation_config.json for an export. Nothing without config.json. Errors: [weights/link].
std::vector<std::string> llm_files(const Config& config);

}  // namespace s2s
