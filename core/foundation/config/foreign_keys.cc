#include "s2s/foreign_keys.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "config/scalar.h"

namespace s2s {
namespace {

/// Whether the node is this value, numbers by their value: "null", "[]", "false", "0".
bool is_value(const Config& node, std::string_view value) {
  if (value == "null") return node.is_null();
  if (value == "[]") return node.is_list() && node.items().empty();
  if (!node.is_scalar()) return false;
  const auto number = parse_float(std::string(value)), written = parse_float(node.text());
  return number && written ? *number == *written : lower(node.text()) == lower(std::string(value));
}

}  // namespace

bool is_about(const ForeignKey& row, const Config& value) {
  if (row.value.empty()) return true;
  for (size_t start = 0; start <= row.value.size();) {
    const size_t end = std::min(row.value.find('|', start), row.value.size());
    if (is_value(value, row.value.substr(start, end - start))) return true;
    start = end + 1;
  }
  return false;
}

}  // namespace s2s
