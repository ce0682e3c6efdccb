#pragma once
// All errors about configurations. `path` is the dotted path of the node in the configuration.

#include <string>
#include <string_view>
#include <vector>

#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s {

/// "path (origin)", or the path alone when the origin is not known.
std::string config_place(std::string_view path, const Config& node);
/// The value as a user wrote it: `1.5`, `"abc"`, `null`, `a list`, `a map`.
std::string config_value(const Config& node);

// Reading values.
Error type_error(std::string_view path, const Config& node, std::string_view expected);
Error missing_value_error(std::string_view path, const Config& node);
Error missing_key_error(std::string_view path, const Config& parent, std::string_view doc);
Error bounds_error(std::string_view path, const Config& node, const std::string& expected);
Error choice_error(std::string_view path, const Config& node,
                   const std::vector<std::string>& choices);
/// A program that a checkpoint's configuration names.
Error program_error(std::string_view path, const Config& node);
/// `instead`: what to write, if it is known better than by the nearest name.
Error unknown_key_error(std::string_view key, std::string_view parent_path, const Config& node,
                        const std::vector<std::string>& known, const std::string& instead = "");

// Values with rules beyond their type.
/// `DD:HH:MM:SS` was expected.
Error duration_error(std::string_view path, const Config& node);
/// Not a valid regular expression; `reason` is the library's.
Error pattern_error(std::string_view path, const Config& node, const std::string& reason);
/// A block that has to name a data set names none.
Error no_datasets_error(const std::string& key);
/// A validation set that repeats its data forever.
Error validation_repeat_error(std::string_view path, const Config& node);

// Reading files.
Error no_file_error(const std::string& file, const std::string& nearest);
Error unreadable_file_error(const std::string& file, const std::string& reason);
Error syntax_error(const Origin& origin, const std::string& reason);
Error duplicate_key_error(const std::string& key, const Origin& first, const Origin& second);

// Overrides and interpolation.
Error override_error(const std::string& text, const std::string& reason);
Error interpolation_error(std::string_view path, const Config& node, const std::string& reason);
Error interpolation_cycle_error(const std::vector<std::string>& cycle, const Config& node);

}  // namespace s2s
