#pragma once
// The plugin host. It knows which plugin provides which component, and loads plugins on demand.
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

/// A loaded plugin, as listed in the manifest of a run.
struct LoadedPlugin {
  std::string path;
  std::string sha1;  // of the file
  PluginFacts facts;
  std::vector<ComponentId> serves;  // the components it registered
};

class PluginHost {
 public:
  /// Reads the notes of all plugins on the search path.
  /// Errors: those of resolve_search_path.
  explicit PluginHost(const SearchInputs& inputs);
  PluginHost(const PluginHost&) = delete;
  PluginHost& operator=(const PluginHost&) = delete;

  /// Loads the files of plugins.load. From then on, loads a plugin whenever `registries` is asked
  /// for an unknown name. Both objects must stay alive and must not move while names are looked up.
  /// Only one thread may look up names.
  /// Errors: [plugin/duplicate] for each name that one directory provides twice; those of loading.
  void install(Registries& registries);

  /// Loads the plugin that provides `id` into `registries`. `place`: the position of the name in
  /// the config. The name of a language model may also be a `model_type` (config.json) that one
  /// plugin says it reads.
  /// Errors: [plugin/unknown], [plugin/model-type], [plugin/abi], those of plugin_loader.h.
  void load(const ComponentId& id, Registries& registries, const std::string& place = {});

  /// Loads one file, and registers the names that it serves.
  void load_file(const PluginFile& file, Registries& registries);

  const SearchPath& search() const { return search_; }
  const PluginScan& scan() const { return scan_; }
  const std::vector<LoadedPlugin>& loaded() const { return loaded_; }

 private:
  [[noreturn]] void throw_unknown(const ComponentId& id, const Registries& registries,
                                  const std::string& place) const;
  bool load_reader(const std::string& model_type, Registries& registries, const std::string& place);
  std::vector<ComponentId> served_by(const PluginFile& file) const;

  SearchPath search_;
  PluginScan scan_;
  std::vector<LoadedPlugin> loaded_;
};

}  // namespace s2s
