#pragma once
// The plugins of this build, loaded through the host as a run does.

#include <memory>
#include <string>

#include "common/places.h"
#include "plugin/plugin_host.h"
#include "s2s/registry.h"

namespace s2s::test {

class BuiltPlugins {
 public:
  BuiltPlugins() : host_(inputs()) { host_.install(registries_); }
  Registries& registries() { return registries_; }

  template <class T>
  std::unique_ptr<T> create(const Config& node, const ContextOf<T>& context = {}) {
    return registries_.create<T>(node, context);
  }

 private:
  static SearchInputs inputs() {
    SearchInputs inputs;
    inputs.command_line = {s2s::test::binary_dir() + "/lib/s2s/plugins"};
    return inputs;
  }

  Registries registries_;
  PluginHost host_;
};

}  // namespace s2s::test
