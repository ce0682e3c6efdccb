#pragma once
// Questions about whole Config trees: their size, values, differences and JSON.

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "s2s/config.h"

namespace s2s {

/// The approximate memory of a copy, in bytes. Files of others can cause many copies.
size_t num_bytes(const Config& node);

/// The node at a dotted path. Creates the missing maps on the way, with `origin_of_new`.
Config& at_path(Config& config, const std::string& path, const Origin& origin_of_new = {});

/// The dotted path and text of every scalar, null, empty list and empty map, in order.
std::vector<std::pair<std::string, std::string>> config_values(const Config& config);

/// A line for each value that differs, in the order of `now` and then of `before`: "a.b: 1 before,
/// 2 now", "a.b: not there before, 2 now". Both trees must be resolved, or both stored (secrets.h).
std::vector<std::string> config_changes(const Config& before, const Config& now);

/// For --json. Plain scalars get their YAML types; .inf and .nan become text, because JSON lacks
/// them.
nlohmann::ordered_json config_json(const Config& config);

/// The origin of every value, by dotted path.
nlohmann::ordered_json origins_json(const Config& config);

}  // namespace s2s
