#pragma once
// Filters by name, in two tables: filters of single values, and filters of lists.

#include <string_view>

#include "jinja/value.h"

namespace s2s::jinja {

using FilterFunction = Value (*)(const Value& input, const Arguments& arguments);
struct NamedFilter {
  std::string_view name;
  FilterFunction apply;
};

/// Returns null if the table does not have the name.
const NamedFilter* find_value_filter(std::string_view name);
const NamedFilter* find_list_filter(std::string_view name);

}  // namespace s2s::jinja
