#include "checkpoint/checkpoint_name.h"

#include <fmt/format.h>

#include <cmath>

#include "s2s/foreign_text.h"
#include "train/train_errors.h"

namespace s2s {
namespace {

/// A value in Python's format: a count is a whole number unless the format is one of a fraction.
std::string formatted(const std::string& format, double value, bool is_count) {
  const std::string spec = "{:" + format + "}";
  const bool is_fraction =
      !format.empty() && std::string_view("eEfFgG%").find(format.back()) != std::string_view::npos;
  if (!is_count || is_fraction) return fmt::format(fmt::runtime(spec), value);
  return fmt::format(fmt::runtime(spec), static_cast<int64_t>(value));
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.size() < 200 && name == printable(name) &&
         name.find('/') == std::string::npos && name != "last" && name != "best";
}

}  // namespace

std::string checkpoint_name(const std::string& pattern, const std::map<std::string, double>& values,
                            bool inserts_names) {
  std::string name;
  size_t at = 0;
  for (size_t open = pattern.find('{'); open != std::string::npos; open = pattern.find('{', at)) {
    const size_t close = pattern.find('}', open);
    if (close == std::string::npos) throw_bad_filename(pattern, "a { has no }");
    const std::string field = pattern.substr(open + 1, close - open - 1);
    const size_t colon = std::min(field.find(':'), field.size());
    const std::string key = field.substr(0, colon);
    const auto found = values.find(key);
    name += pattern.substr(at, open - at) + (inserts_names ? key + "=" : "");
    try {
      name += formatted(field.substr(std::min(colon + 1, field.size())),
                        found == values.end() ? 0 : found->second, key == "step" || key == "epoch");
    } catch (const fmt::format_error& error) {
      throw_bad_filename(pattern, "{" + field + "}: " + error.what());
    }
    at = close + 1;
  }
  name += pattern.substr(at);
  if (!is_plain_name(name)) throw_bad_filename(pattern, "'" + name + "' is no plain file name");
  return name;
}

}  // namespace s2s
