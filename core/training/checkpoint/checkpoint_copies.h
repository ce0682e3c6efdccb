#pragma once
// A checkpoint holds its own copies of the small files that a configuration names by path, so that
// it answers and goes on wherever those have gone.

#include <string>
#include <vector>

#include "s2s/config.h"

namespace s2s {

/// Folders of a run, and of each of its checkpoints: the tokenizer's files, and the config.json
/// that gives the language model its sizes, with what generates by default.
inline constexpr char kTokenizerCopy[] = "tokenizer";
inline constexpr char kLlmCopy[] = "llm";
inline constexpr char kGenerationConfig[] = "generation_config.json";

/// `config` with `model.tokenizer.path` and `model.llm.path` turned to the copies of `checkpoint`
/// (a folder, or ""), where it holds some.
Config with_checkpoint_copies(Config config, const std::string& checkpoint);

/// The config.json beside the weights that `model.llm.path` names, and generation_config.json for
/// an export; nothing where there is no config.json. Errors: [weights/link].
std::vector<std::string> llm_files(const Config& config);

}  // namespace s2s
