#pragma once
// Options checked and completed by a component's table alone: nothing is built.

#include <functional>
#include <string>

#include "s2s/options.h"

namespace s2s {

/// How a block of options is looked at.
struct OptionScope {
  std::string path;    // of the block, "model.llm"
  std::string source;  // origin of the defaults, "default of llm:NAME"
  /// True for keys of the block that somebody else reads; null: none.
  std::function<bool(const std::string& key)> known_elsewhere;
  bool check_required = true;
  /// What to write instead of a key that the table does not list, "" when nobody knows; null: no.
  std::function<std::string(const std::string& path, const std::string& key, const Config& value)>
      instead = nullptr;
  /// True for a key that the table does not list and that has no effect with this value; null:
  /// false.
  std::function<bool(const std::string& path, const std::string& key, const Config& value)> passes =
      nullptr;
};

/// Adds the findings that OptionReader would: unknown keys, types, bounds, choices, mandatory
/// values. `node` is a map or null.
void check_options(const Config& node, const OptionTable& table, const OptionScope& scope,
                   Findings& findings);

/// What the defaults of a component come from when that is not its table: "preset tiny"; else "".
/// Completing such a block from the table would show values that nobody uses.
std::string source_of_defaults(const Config& node, const OptionTable& table,
                               const std::string& kind);

/// Adds every option that is absent, with its default and `scope.source` as origin.
void complete_options(Config& node, const OptionTable& table, const OptionScope& scope);

}  // namespace s2s
