#pragma once
// The configuration that a checkpoint brings with it. It is data of whoever made the checkpoint,
// not words of the user: it may name parts, and may not load code.

#include <string>

#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s::run {

/// True for a file in `checkpoint` (a folder, or ""), or beside weights or the index of some
/// checkpoint.
bool is_of_checkpoint(const std::string& file, const std::string& checkpoint);

/// Reads a configuration file. One of a checkpoint (see above) loses its block `plugins`;
/// `*dropped` then says so ("" otherwise), for the user and for `with_dropped_plugins`. Every
/// command that loads plugins for a configuration reads it through this. Errors: those of
/// load_config.
Config load_config_safely(const std::string& file, const std::string& checkpoint,
                          std::string* dropped);

/// `error`, and where it is about a part that nobody provides, `dropped` below its message.
Error with_dropped_plugins(const Error& error, const std::string& dropped);

/// What an export needs of a checkpoint's configuration: `model.llm` and `model.lora`, with their
/// interpolations followed. Variables that only other blocks use need not be set.
/// Errors: [config/interpolation] and others of interpolations, all together.
Config language_model_config(Config config);

}  // namespace s2s::run
