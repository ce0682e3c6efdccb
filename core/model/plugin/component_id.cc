#include "plugin/component_id.h"

#include <algorithm>

namespace s2s {

namespace {

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool is_name(std::string_view text) {
  const size_t point = text.find('.');
  if (point == std::string_view::npos) return is_word(text);
  return is_word(text.substr(0, point)) && is_word(text.substr(point + 1));
}

}  // namespace

std::optional<ComponentId> parse_component_id(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view kind = text.substr(0, colon);
  const std::string_view name = text.substr(colon + 1);
  if (!is_word(kind) || !is_name(name)) return std::nullopt;
  return ComponentId{std::string(kind), std::string(name)};
}

std::string join_ids(const std::vector<ComponentId>& ids) {
  std::string all;
  for (const ComponentId& id : ids) all += (all.empty() ? "" : ", ") + id.text();
  return all;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for_each_kind([&names]<class T>() { names.emplace_back(KindName<T>::value); });
  return names;
}

std::vector<ComponentId> registered_ids(const Registries& registries) {
  std::vector<ComponentId> ids;
  for_each_kind([&]<class T>() {
    for (const auto& [name, component] : registries.of<T>().entries()) {
      ids.push_back({KindName<T>::value, name});
    }
  });
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace s2s
