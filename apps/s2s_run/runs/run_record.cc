#include "s2s_run/runs/run_record.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/foreign_json.h"
#include "base/number_text.h"
#include "config/config_tree.h"
#include "config/load_config.h"
#include "s2s/error.h"
#include "s2s_run/runs/run_metrics.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kMaxDepth = 4;  // of runs below a given folder
constexpr const char* kMissing = "-";

Error no_run_error(const std::string& folder) {
  return data_error("run/none", folder +
                                    " has no run\n  expected:  a run folder, with config.yaml and "
                                    "metrics.jsonl, or a folder above some\n  next:      give "
                                    "exp_manager.explicit_log_dir of the run");
}

bool is_run(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "metrics.jsonl", ignored) ||
         (fs::is_regular_file(folder / "manifest.json", ignored) &&
          !folder.filename().string().starts_with("step="));
}

void find_runs(const fs::path& folder, int depth, std::vector<std::string>& found) {
  if (is_run(folder)) {
    found.push_back(folder.string());
    return;
  }
  std::error_code ignored;
  if (depth == kMaxDepth || !fs::is_directory(folder, ignored)) return;
  std::vector<fs::path> below;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) below.push_back(entry.path());
  }
  std::sort(below.begin(), below.end());
  for (const fs::path& path : below) find_runs(path, depth + 1, found);
}

json read_object(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return json::object();
  const json value = try_parse_foreign_json(read_small_file(file.string()));
  return value.is_object() ? value : json::object();
}

void read_checkpoint(const fs::path& folder, RunRecord& run) {
  std::error_code ignored;
  const fs::path target = fs::read_symlink(folder / "last", ignored);
  if (target.empty()) return;
  run.checkpoint = target.filename().string();
  const json state = read_object(folder / target / "state.json");
  const auto mesh = state.find("mesh");
  if (mesh == state.end() || !mesh->is_object()) return;
  for (const char* axis : {"replicate", "shard"}) {
    run.data_size *= std::max<int64_t>(1, mesh->value(axis, int64_t{1}));
  }
}

RunRecord read_run(const std::string& folder, Validations validations) {
  RunRecord run;
  run.path = folder;
  const fs::path path = folder;
  run.manifest = read_object(path / "manifest.json");
  std::error_code ignored;
  if (fs::is_regular_file(path / "config.yaml", ignored)) {
    run.config = config_values(load_config((path / "config.yaml").string()));
  }
  read_last_metrics(run, validations);
  read_checkpoint(path / "checkpoints", run);
  return run;
}

/// The last parts of the paths, as many as tell the runs apart.
void name_runs(std::vector<RunRecord>& runs) {
  for (int num_parts = 1;; ++num_parts) {
    std::set<std::string> names;
    bool is_whole = true;
    for (RunRecord& run : runs) {
      fs::path rest = fs::path(run.path).lexically_normal();
      if (!rest.has_filename()) rest = rest.parent_path();
      fs::path name = rest.filename();
      for (int i = 1; i < num_parts && rest.has_parent_path() && rest != rest.root_path(); ++i) {
        rest = rest.parent_path();
        name = rest.filename() / name;
      }
      is_whole = is_whole && (!rest.has_parent_path() || rest == rest.root_path());
      run.name = name.string();
      names.insert(run.name);
    }
    if (names.size() == runs.size() || is_whole) return;
  }
}

/// True for values that only say where a run writes.
bool is_place(const RunRecord& run, const std::string& key, const std::string& text) {
  for (const char* const place : {"explicit_log_dir", "exp_dir", "name"}) {
    const std::string path = std::string("exp_manager.") + place;
    if (key == path) return true;
  }
  const std::string* const folder = run.value("exp_manager.explicit_log_dir");
  return folder != nullptr && text == *folder;
}

/// Adds a difference unless all runs have the same value.
void add_difference(const std::string& key, std::vector<std::string> values,
                    std::vector<ConfigDifference>& out) {
  const auto is_first = [&](const std::string& value) { return value == values.front(); };
  if (!std::all_of(values.begin(), values.end(), is_first)) out.push_back({key, std::move(values)});
}

std::string text_at(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return kMissing;
  return found->is_string() ? found->get<std::string>() : found->dump();
}

/// "0.1.0 sha1 0123456789ab" of each plugin, by name.
std::map<std::string, std::string> plugins_of(const RunRecord& run) {
  std::map<std::string, std::string> plugins;
  const auto list = run.manifest.find("plugins");
  if (list == run.manifest.end() || !list->is_array()) return plugins;
  for (const json& plugin : *list) {
    if (!plugin.is_object()) continue;
    plugins[text_at(plugin, "name")] =
        text_at(plugin, "version") + " sha1 " + text_at(plugin, "sha1").substr(0, 12);
  }
  return plugins;
}

}  // namespace

const std::string* RunRecord::value(const std::string& key) const {
  const auto found = std::find_if(config.begin(), config.end(),
                                  [&](const auto& entry) { return entry.first == key; });
  return found == config.end() ? nullptr : &found->second;
}

int64_t RunRecord::max_steps() const {
  const std::string* const text = value("trainer.max_steps");
  return text == nullptr ? 0 : read_number<int64_t>(*text).value_or(0);
}

std::optional<double> RunRecord::number(const json& line, const std::string& key) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::vector<RunRecord> read_runs(const std::vector<std::string>& folders, Validations validations) {
  std::vector<std::string> paths;
  for (const std::string& folder : folders) {
    const size_t before = paths.size();
    find_runs(folder, 0, paths);
    if (paths.size() == before) throw no_run_error(folder);
  }
  std::vector<RunRecord> runs;
  for (const std::string& path : paths) runs.push_back(read_run(path, validations));
  name_runs(runs);
  return runs;
}

std::vector<ConfigDifference> config_differences(const std::vector<RunRecord>& runs) {
  std::vector<ConfigDifference> out;
  std::set<std::string> seen;
  for (const RunRecord& run : runs) {
    for (const auto& [key, text] : run.config) {
      if (!seen.insert(key).second || is_place(run, key, text)) continue;
      std::vector<std::string> values;
      for (const RunRecord& other : runs) {
        const std::string* const value = other.value(key);
        values.push_back(value == nullptr ? kMissing : *value);
      }
      add_difference(key, std::move(values), out);
    }
  }
  return out;
}

std::vector<ConfigDifference> program_differences(const std::vector<RunRecord>& runs) {
  std::vector<ConfigDifference> out;
  const auto add = [&](const std::string& label, const auto& text) {
    std::vector<std::string> values;
    for (const RunRecord& run : runs) values.push_back(text(run));
    add_difference(label, std::move(values), out);
  };
  for (const char* key : {"s2s", "torch", "git_commit"}) {
    add(key, [&](const RunRecord& run) { return text_at(run.manifest, key); });
  }
  for (const char* key : {"name", "machine", "threads"}) {
    add(std::string("host.") + key, [&](const RunRecord& run) {
      return text_at(run.manifest.value("host", json::object()), key);
    });
  }
  std::set<std::string> names;
  for (const RunRecord& run : runs) {
    for (const auto& [name, facts] : plugins_of(run)) names.insert(name);
  }
  for (const std::string& name : names) {
    add("plugin " + name, [&](const RunRecord& run) {
      const auto plugins = plugins_of(run);
      const auto found = plugins.find(name);
      return found == plugins.end() ? std::string(kMissing) : found->second;
    });
  }
  return out;
}

}  // namespace s2s::run
