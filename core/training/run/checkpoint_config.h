#pragma once
// The configuration in a checkpoint. Its author may be a stranger, so it may name components and
// files, but must not load code or run commands.

#include <string>

#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s::run {

/// What was removed from a checkpoint's configuration: one sentence each for the user, or "".
struct DroppedParts {
  std::string plugins;   // also for `with_dropped_plugins`
  std::string commands;  // `data.allow_commands`
};

/// Reads a configuration file. If the file is in `checkpoint` (a folder, or ""), or next to the
/// weights or the index of any checkpoint, the block `plugins` and the key `data.allow_commands`
/// are removed, and its commands do not count as typed by the user (distrust_file). Every command
/// that loads plugins or opens data for a configuration must read it with this function.
/// Errors: those of load_config.
Config load_config_safely(const std::string& file, const std::string& checkpoint,
                          DroppedParts* dropped);

/// Returns `error`. If it reports a component that no plugin provides, appends `dropped` to it.
Error with_dropped_plugins(const Error& error, const std::string& dropped);

/// Returns what an export needs from a checkpoint's configuration: `model.llm` and `model.lora`,
/// with interpolations resolved. Variables that only other blocks use need not be set. The same
/// holds for variables in a path that the checkpoint's own copy replaces.
/// Errors: [config/interpolation] and other interpolation errors, all together.
Config language_model_config(Config config, const std::string& checkpoint);

}  // namespace s2s::run
