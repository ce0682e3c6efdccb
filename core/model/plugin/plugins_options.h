#pragma once
// The `plugins` block of a configuration.

#include <string>
#include <vector>

#include "s2s/options.h"

namespace s2s {

struct PluginsOptions {
  std::vector<std::string> paths;
  std::vector<std::string> load;
  void visit(OptionVisitor& v) {
    v("paths", paths, "folders to search for plugins, relative to the config file");
    v("load", load, "plugin files to load, relative to the config file or in a searched folder");
  }
};

}  // namespace s2s
