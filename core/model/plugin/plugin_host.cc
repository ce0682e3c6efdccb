#include "plugin/plugin_host.h"

#include <algorithm>
#include <set>

#include "plugin/plugin_errors.h"
#include "plugin/plugin_loader.h"

namespace s2s {

namespace {

/// Returns "x.yaml:14:7, model.llm.name".
std::string config_place_of_name(const Config& asked_at, const std::string& path) {
  const Config* const name = asked_at.find("name");
  const Config& node = name != nullptr ? *name : asked_at;
  const std::string where = node.origin().source.empty() ? "" : node.origin().text();
  const std::string key = path.empty() ? "" : path + ".name";
  return where + (where.empty() || key.empty() ? "" : ", ") + key;
}

}  // namespace

PluginHost::PluginHost(const SearchInputs& inputs)
    : search_(resolve_search_path(inputs)), scan_(scan_plugins(search_)) {}

void PluginHost::install(Registries& registries) {
  scan_.duplicates.throw_if_any();
  // The scan lists the files of plugins.load first.
  for (const std::string& path : search_.load) {
    const auto file = std::find_if(scan_.files.begin(), scan_.files.end(),
                                   [&](const PluginFile& f) { return f.path == path; });
    if (file != scan_.files.end()) load_file(*file, registries);
  }
  registries.set_provided_names([this](const std::string& kind) {
    std::vector<std::string> names;
    for (const auto& [id, file] : scan_.owners) {
      if (id.kind == kind) names.push_back(id.name);
    }
    return names;
  });
  registries.set_missing_handler(
      [this, &registries](const std::string& kind, const std::string& name, const Config& asked_at,
                          const std::string& path) {
        load({kind, name}, registries, config_place_of_name(asked_at, path));
      });
}

void PluginHost::load(const ComponentId& id, Registries& registries, const std::string& place) {
  const auto owner = scan_.owners.find(id);
  if (owner == scan_.owners.end()) {
    if (id.kind == KindName<Backbone>::value && load_reader(id.name, registries, place)) return;
    throw_unknown(id, registries, place);
  }
  load_file(scan_.files[owner->second], registries);
}

bool PluginHost::load_reader(const std::string& model_type, Registries& registries,
                             const std::string& place) {
  const auto found = scan_.readers.find(model_type);
  if (found == scan_.readers.end()) return false;
  if (found->second.size() > 1) throw model_type_error(model_type, found->second, place);
  const std::string& name = found->second.front();
  if (registries.of<Backbone>().find(name) == nullptr) {
    load({KindName<Backbone>::value, name}, registries, place);
  }
  Component<Backbone> reader = *registries.of<Backbone>().find(name);
  reader.name = model_type;
  registries.of<Backbone>().add(std::move(reader));
  return true;
}

void PluginHost::load_file(const PluginFile& file, Registries& registries) {
  const RegisterFunction function = open_plugin(file);
  Registries staging;
  run_registration(function, file, staging);
  check_provides(file, staging);
  const std::vector<ComponentId> serves = served_by(file);
  commit(staging, serves, registries);
  loaded_.push_back({file.path, file_sha1(file.path), file.facts, serves});
}

std::vector<ComponentId> PluginHost::served_by(const PluginFile& file) const {
  std::vector<ComponentId> ids;
  for (const ComponentId& id : file.provides) {
    const auto owner = scan_.owners.find(id);
    const bool shadowed =
        owner != scan_.owners.end() && scan_.files[owner->second].path != file.path;
    if (!shadowed) ids.push_back(id);
  }
  return ids;
}

void PluginHost::throw_unknown(const ComponentId& id, const Registries& registries,
                               const std::string& place) const {
  std::set<std::string> available;
  UnknownName unknown{id, place, {}, {}, {}};
  const auto note_id = [&](const ComponentId& other) {
    if (other.kind == id.kind) available.insert(other.name);
    if (other.name == id.name && other.kind != id.kind) unknown.other_kinds.push_back(other.kind);
  };
  for (const ComponentId& other : registered_ids(registries)) {
    if (!scan_.owners.contains(other)) note_id(other);
  }
  for (const auto& [other, index] : scan_.owners) {
    if (!scan_.files[index].problem) note_id(other);
  }
  unknown.available.assign(available.begin(), available.end());
  for (const SearchDirectory& directory : search_.directories) {
    unknown.searched.push_back(directory.path + (directory.exists ? "" : " (does not exist)"));
  }
  throw unknown_error(unknown);
}

}  // namespace s2s
