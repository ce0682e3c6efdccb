#pragma once
// Reads and checks the value of one option, and writes it back. This is the only list of option
// types: the reader, the writer and the table use it.

#include <optional>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/options.h"

namespace s2s {

/// A node that holds an option's value.
struct OptionSpot {
  const Config& node;
  std::string path;
  const Bounds& bounds;
};

/// Reads the node into `value`; on failure, only adds findings. T: a type of type_name.
template <class T>
void read_value(const OptionSpot& spot, T& value, Findings& findings);

/// The types' names in option tables.
inline const char* type_name(const bool&) { return "bool"; }
inline const char* type_name(const int64_t&) { return "int"; }
inline const char* type_name(const double&) { return "float"; }
inline const char* type_name(const std::string&) { return "string"; }
inline const char* type_name(const std::optional<int64_t>&) { return "int?"; }
inline const char* type_name(const std::optional<double>&) { return "float?"; }
inline const char* type_name(const std::optional<std::string>&) { return "string?"; }
inline const char* type_name(const std::vector<int64_t>&) { return "list of int"; }
inline const char* type_name(const std::vector<double>&) { return "list of float"; }
inline const char* type_name(const std::vector<std::string>&) { return "list of string"; }
inline const char* type_name(const Config&) { return "subtree"; }
constexpr const char* kGroupType = "map";
constexpr const char* kGroupListType = "list of map";

/// Adds findings if the node is not of the type `type_name`.
void check_value(const std::string& type_name, const OptionSpot& spot, Findings& findings);

/// Adds a finding if the node names another program than the default and the user did not write it.
void check_program(const OptionSpot& spot, Findings& findings);

/// The value as a node.
Config to_config(bool value);
Config to_config(int64_t value);
Config to_config(double value);
Config to_config(const std::string& value);
Config to_config(const Config& value);
template <class T>
Config to_config(const std::optional<T>& value) {
  return value ? to_config(*value) : Config();
}
template <class T>
Config to_config(const std::vector<T>& values) {
  std::vector<Config> items;
  for (const T& value : values) items.push_back(to_config(value));
  return Config::list(std::move(items));
}

}  // namespace s2s
