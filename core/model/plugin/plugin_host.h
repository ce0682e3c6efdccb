#pragma once
// The plugin host: knows which plugin provides what, and loads what is asked for.
//
//   PluginHost host(process_search_inputs(plugin_paths, config, config_dir));
//   Registries registries;
//   host.install(registries);
//   registries.create<Backbone>(...)   // loads the plugin that provides the name

#include <string>
#include <vector>

#include "plugin/plugin_scan.h"
#include "s2s/registry.h"

namespace s2s {

/// A plugin that this run has loaded: what a run's manifest says about it.
struct LoadedPlugin {
  std::string path;
  std::string sha1;  // of the file
  PluginFacts facts;
  std::vector<ComponentId> serves;  // what it put into the registries
};

class PluginHost {
 public:
  /// Reads the notes of all plugins on the search path.
  /// Errors: those of resolve_search_path.
  explicit PluginHost(const SearchInputs& inputs);
  PluginHost(const PluginHost&) = delete;
  PluginHost& operator=(const PluginHost&) = delete;

  /// Loads the files of plugins.load, and from now on loads a plugin when `registries` is asked for
  /// a name it does not hold. Both must live on, at their places, while names are asked for; one
  /// thread asks.
  /// Errors: [plugin/duplicate] for each name that one directory provides twice; those of loading.
  void install(Registries& registries);

  /// Loads the plugin that provides `id` into `registries`. `place`: where the config names it.
  /// Errors: [plugin/unknown], [plugin/abi], those of plugin_loader.h.
  void load(const ComponentId& id, Registries& registries, const std::string& place = {});

  /// Loads one file, and registers those of its names that it serves.
  void load_file(const PluginFile& file, Registries& registries);

  const SearchPath& search() const { return search_; }
  const PluginScan& scan() const { return scan_; }
  const std::vector<LoadedPlugin>& loaded() const { return loaded_; }

 private:
  [[noreturn]] void throw_unknown(const ComponentId& id, const Registries& registries,
                                  const std::string& place) const;
  std::vector<ComponentId> served_by(const PluginFile& file) const;

  SearchPath search_;
  PluginScan scan_;
  std::vector<LoadedPlugin> loaded_;
};

}  // namespace s2s
