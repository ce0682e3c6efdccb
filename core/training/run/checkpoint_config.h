#pragma once
// The configuration that a checkpoint brings with it. It is data of whoever made the checkpoint,
// not words of the user: it may name parts and files, and may neither load code nor run commands.

#include <string>

#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s::run {

/// What a checkpoint's configuration has lost: a sentence each for the user, or "".
struct DroppedParts {
  std::string plugins;   // for `with_dropped_plugins`, too
  std::string commands;  // `data.allow_commands`
};

/// Reads a configuration file. One in `checkpoint` (a folder, or ""), or beside weights or the
/// index of some checkpoint, loses its block `plugins` and `data.allow_commands`, and its commands
/// do not count as typed (distrust_file). Every command that loads plugins or opens data for a
/// configuration reads it through this.
/// Errors: those of load_config.
Config load_config_safely(const std::string& file, const std::string& checkpoint,
                          DroppedParts* dropped);

/// `error`, and where it is about a part that nobody provides, `dropped` below its message.
Error with_dropped_plugins(const Error& error, const std::string& dropped);

/// What an export needs of a checkpoint's configuration: `model.llm` and `model.lora`, with their
/// interpolations followed. Variables that only other blocks use need not be set, nor those of a
/// path in whose place the checkpoint has its own copy.
/// Errors: [config/interpolation] and others of interpolations, all together.
Config language_model_config(Config config, const std::string& checkpoint);

}  // namespace s2s::run
