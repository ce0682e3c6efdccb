#include "plugin/plugin_scan.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "plugin/elf_note.h"
#include "plugin/plugin_errors.h"

namespace s2s {

namespace fs = std::filesystem;

const char* state_name(PluginState state) {
  switch (state) {
    case PluginState::kFound:
      return "found";
    case PluginState::kShadowed:
      return "shadowed";
    case PluginState::kDuplicate:
      return "duplicate";
    case PluginState::kIncompatible:
      return "incompatible";
    case PluginState::kUnreadable:
      return "unreadable";
  }
  return "";
}

PluginFile read_plugin_file(const std::string& path) {
  PluginFile file;
  file.path = path;
  try {
    file.facts = read_facts(read_plugin_note(path));
  } catch (const Error& error) {
    file.state = PluginState::kUnreadable;
    file.problem = error;
    return file;
  }
  file.provides = provided_ids(file.facts);
  const std::vector<AbiDifference> differences = compare_abi(file.facts, host_facts());
  if (!differences.empty()) {
    file.state = PluginState::kIncompatible;
    file.problem = abi_error(path, file.facts, differences);
    return file;
  }
  const std::vector<std::string> findings = field_findings(file.facts);
  if (!findings.empty()) {
    file.state = PluginState::kUnreadable;
    file.problem = fields_error(path, findings);
  }
  return file;
}

namespace {

std::vector<std::string> shared_objects(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::directory_iterator it(directory, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (it->path().extension() == ".so") paths.push_back(it->path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class Scanner {
 public:
  explicit Scanner(PluginScan& scan) : scan_(scan) {}

  /// Reads the files of one folder and resolves their names against the earlier folders.
  void scan_place(const std::string& place, const std::vector<std::string>& paths) {
    const size_t first = scan_.files.size();
    for (const std::string& path : paths) {
      std::error_code error;
      if (!seen_.insert(fs::weakly_canonical(path, error).string()).second) continue;
      scan_.files.push_back(read_plugin_file(path));
      scan_.files.back().place = place;
    }
    std::map<ComponentId, std::vector<size_t>> providers;
    for (size_t i = first; i < scan_.files.size(); ++i) {
      for (const ComponentId& id : scan_.files[i].provides) providers[id].push_back(i);
    }
    for (const auto& [id, files] : providers) settle(place, id, files);
    for (size_t i = first; i < scan_.files.size(); ++i) mark_shadowed(i);
  }

 private:
  void settle(const std::string& place, const ComponentId& id, const std::vector<size_t>& all) {
    std::vector<size_t> usable;
    std::copy_if(all.begin(), all.end(), std::back_inserter(usable),
                 [this](size_t i) { return !scan_.files[i].problem.has_value(); });
    if (usable.size() > 1) add_duplicate(place, id, usable);
    const size_t chosen = usable.empty() ? all.front() : usable.front();
    const auto [owner, is_new] = scan_.owners.emplace(id, chosen);
    if (is_new) return;
    for (const size_t i : all) {
      scan_.shadowed.push_back({id, scan_.files[owner->second].path, scan_.files[i].path});
    }
  }

  void add_duplicate(const std::string& place, const ComponentId& id,
                     const std::vector<size_t>& files) {
    std::vector<std::string> names;
    for (const size_t i : files) names.push_back(fs::path(scan_.files[i].path).filename());
    const Error error = duplicate_error(id, place, names);
    scan_.duplicates.add(error);
    for (const size_t i : files) scan_.files[i].state = PluginState::kDuplicate;
  }

  void mark_shadowed(size_t index) {
    PluginFile& file = scan_.files[index];
    if (file.state != PluginState::kFound) return;
    const bool serves =
        std::any_of(file.provides.begin(), file.provides.end(),
                    [&](const ComponentId& id) { return scan_.owners.at(id) == index; });
    if (!serves) file.state = PluginState::kShadowed;
  }

  PluginScan& scan_;
  std::set<std::string> seen_;
};

}  // namespace

PluginScan scan_plugins(const SearchPath& search) {
  PluginScan scan;
  Scanner scanner(scan);
  scanner.scan_place("plugins.load", search.load);
  for (const SearchDirectory& directory : search.directories) {
    if (directory.exists) scanner.scan_place(directory.path, shared_objects(directory.path));
  }
  for (const auto& [id, index] : scan.owners) {
    if (id.kind != KindName<Backbone>::value) continue;
    for (const std::string& type : model_types_of(scan.files[index].facts)) {
      scan.readers[type].push_back(id.name);
    }
  }
  return scan;
}

std::vector<std::string> own_names(const PluginScan& scan, const std::string& kind) {
  std::vector<std::string> names;
  for (size_t i = 0; i < scan.files.size(); ++i) {
    for (const ComponentId& id : scan.files[i].provides) {
      const bool has_vendor = id.name.find('.') != std::string::npos;
      if (id.kind != kind || has_vendor || scan.owners.at(id) != i) continue;
      if (is_own_plugin(scan.files[i].path)) names.push_back(id.name);
    }
  }
  return names;
}

}  // namespace s2s
