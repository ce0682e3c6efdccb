#pragma once
// Checks and completes options with a component's table. Builds no component.

#include <functional>
#include <string>

#include "s2s/options.h"

namespace s2s {

/// How a block of options is checked.
struct OptionScope {
  std::string path;    // of the block, "model.llm"
  std::string source;  // origin of the defaults, "default of llm:NAME"
  /// True for keys of the block that another reader reads; null: none.
  std::function<bool(const std::string& key)> known_elsewhere;
  bool check_required = true;
  /// What to write instead of a key that the table does not list; "" if unknown. null: no advice.
  std::function<std::string(const std::string& path, const std::string& key, const Config& value)>
      instead = nullptr;
  /// True for a key that the table does not list and that has no effect with this value; null:
  /// none.
  std::function<bool(const std::string& path, const std::string& key, const Config& value)> passes =
      nullptr;
};

/// Adds the findings of OptionReader: unknown keys, types, bounds, choices, missing mandatory
/// values. `node` is a map or null.
void check_options(const Config& node, const OptionTable& table, const OptionScope& scope,
                   Findings& findings);

/// Where the defaults of a component come from, if not from its table ("preset tiny"); else "".
/// Such a block is not completed from the table, because the table's defaults are not used.
std::string source_of_defaults(const Config& node, const OptionTable& table,
                               const std::string& kind);

/// Adds each absent option with its default. Its origin is `scope.source`.
void complete_options(Config& node, const OptionTable& table, const OptionScope& scope);

}  // namespace s2s
