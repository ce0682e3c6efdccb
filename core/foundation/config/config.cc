#include "s2s/config.h"

#include <algorithm>
#include <charconv>

#include "config/config_errors.h"
#include "config/scalar.h"
#include "s2s/error.h"

namespace s2s {

std::string Origin::text() const {
  std::string out = source;
  if (line > 0) out += ":" + std::to_string(line) + ":" + std::to_string(column);
  if (!via.empty()) out += " via " + via;
  return out;
}

Config Config::scalar(std::string text, bool quoted) {
  Config node;
  if (!quoted && is_null_text(text)) return node;
  node.kind_ = Kind::kScalar;
  node.text_ = std::move(text);
  node.quoted_ = quoted;
  return node;
}

Config Config::list(std::vector<Config> items) {
  Config node;
  node.kind_ = Kind::kList;
  node.items_ = std::move(items);
  return node;
}

Config Config::map() {
  Config node;
  node.kind_ = Kind::kMap;
  return node;
}

bool Config::is_missing() const { return is_scalar() && text_ == "???"; }

const Config* Config::find(std::string_view key) const {
  for (const auto& [name, child] : entries_) {
    if (name == key) return &child;
  }
  return nullptr;
}

Config* Config::find(std::string_view key) {
  return const_cast<Config*>(static_cast<const Config*>(this)->find(key));
}

const Config* Config::find_path(std::string_view dotted_path) const {
  if (dotted_path.empty()) return this;
  // A key may itself hold dots, so every prefix that ends before a dot is tried, shortest first.
  for (size_t end = dotted_path.find('.');; end = dotted_path.find('.', end + 1)) {
    const bool last = end == std::string_view::npos;
    const std::string_view key = dotted_path.substr(0, end);
    const Config* child = find(key);
    if (is_list()) {
      const auto index = parse_int(key);
      const bool inside = index && *index >= 0 && *index < static_cast<int64_t>(items_.size());
      child = inside ? &items_[static_cast<size_t>(*index)] : nullptr;
    }
    if (child != nullptr && last) return child;
    if (child != nullptr) {
      if (const Config* found = child->find_path(dotted_path.substr(end + 1))) return found;
    }
    if (last) return nullptr;
  }
}

Config& Config::operator[](std::string_view key) {
  if (!is_map()) {
    Origin origin = std::move(origin_);
    *this = map();
    origin_ = std::move(origin);
  }
  if (Config* child = find(key)) return *child;
  entries_.emplace_back(std::string(key), Config());
  return entries_.back().second;
}

void Config::erase(std::string_view key) {
  std::erase_if(entries_, [key](const auto& entry) { return entry.first == key; });
}

bool Config::as_bool(std::string_view path) const {
  if (is_missing()) throw missing_value_error(path, *this);
  if (is_scalar() && !quoted_) {
    if (const auto value = parse_bool(text_)) return *value;
  }
  throw type_error(path, *this, "true or false");
}

int64_t Config::as_int(std::string_view path) const {
  if (is_missing()) throw missing_value_error(path, *this);
  if (is_scalar() && !quoted_) {
    if (const auto value = parse_int(text_)) return *value;
  }
  throw type_error(path, *this, "an integer");
}

double Config::as_double(std::string_view path) const {
  if (is_missing()) throw missing_value_error(path, *this);
  if (is_scalar() && !quoted_) {
    if (const auto value = parse_float(text_)) return *value;
  }
  throw type_error(path, *this, "a number");
}

std::string Config::as_string(std::string_view path) const {
  if (is_missing()) throw missing_value_error(path, *this);
  if (!is_scalar()) throw type_error(path, *this, "a string");
  return text_;
}

}  // namespace s2s
