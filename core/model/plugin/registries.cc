// The functions of s2s/registry.h that are not templates.

#include "config/config_errors.h"
#include "plugin/plugin_errors.h"
#include "s2s/registry.h"

namespace s2s {

void throw_duplicate_name(const std::string& kind, const std::string& name) {
  throw duplicate_name_error({kind, name});
}

std::string Registries::take_name(Config& node, const std::string& path) {
  const Config* const name = node.find("name");
  if (name == nullptr || name->is_null()) {
    throw missing_key_error((path.empty() ? "" : path + ".") + "name", node,
                            "name of the component (see s2s-run plugin list)");
  }
  std::string text = name->as_string(path.empty() ? "name" : path + ".name");
  node.erase("name");
  return text;
}

}  // namespace s2s
