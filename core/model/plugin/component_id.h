#pragma once
// "kind:name": how notes, commands and messages name a component.

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "s2s/registry.h"

namespace s2s {

struct ComponentId {
  std::string kind;
  std::string name;
  std::string text() const { return kind + ":" + name; }
  auto operator<=>(const ComponentId&) const = default;
};

/// Parses "kind:name". Returns nothing when the text has another form. The kind need not exist.
/// A name is [a-z0-9_]+, or two such names joined by a point ("vendor.name").
std::optional<ComponentId> parse_component_id(std::string_view text);

/// Returns "llm:a, codec:b".
std::string join_ids(const std::vector<ComponentId>& ids);

/// Calls f.operator()<T>() for the interface T of every kind, in the order of Registries::All.
template <class F>
void for_each_kind(F&& f) {
  [&f]<class... T>(std::type_identity<std::tuple<Registry<T>...>>) {
    (f.template operator()<T>(), ...);
  }(std::type_identity<Registries::All>{});
}

/// Returns the name of every kind: "llm", "encoder", ...
std::vector<std::string> kind_names();

/// Returns all registered components, sorted.
std::vector<ComponentId> registered_ids(const Registries& registries);

}  // namespace s2s
