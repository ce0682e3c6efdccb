#include "run/manifest.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/foreign_json.h"
#include "config/secrets.h"
#include "run/manifest_git.h"
#include "s2s/plugin_note.h"

namespace s2s::run {
namespace {

using nlohmann::json;

/// The words this process was started with, without secrets.
json command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  std::string word;
  while (std::getline(in, word, '\0')) words.push_back(word);
  return shown_words(words);
}

json host_facts() {
  utsname system{};
  uname(&system);
  return {{"name", system.nodename},
          {"system", std::string(system.sysname) + " " + system.release},
          {"machine", system.machine},
          {"threads", at::get_num_threads()}};
}

json plugin_facts(const Run& setup) {
  json plugins = json::array();
  for (const LoadedPlugin& plugin : setup.host().loaded()) {
    json serves = json::array();
    for (const ComponentId& id : plugin.serves) serves.push_back(id.kind + ":" + id.name);
    plugins.push_back({{"name", plugin.facts.name},
                       {"version", plugin.facts.version},
                       {"file", plugin.path},
                       {"sha1", plugin.sha1},
                       {"serves", serves}});
  }
  return plugins;
}

/// The recorded plugin that served `name`, or null.
const json* recorded_provider(const json& plugins, const json& name) {
  for (const json& plugin : plugins) {
    const json& serves = plugin.at("serves");
    if (std::find(serves.begin(), serves.end(), name) != serves.end()) return &plugin;
  }
  return nullptr;
}

/// "adamw 0.1.0 (FILE, sha1 0123456789ab)"
std::string described(const json& plugin) {
  const auto text = [&](const char* key) { return plugin.at(key).get<std::string>(); };
  return fmt::format("{} {} ({}, sha1 {})", text("name"), text("version"), text("file"),
                     text("sha1").substr(0, 12));
}

/// A line for each loaded plugin whose file is not the one that served its names before.
std::string other_plugins(const json& recorded, const json& loaded) {
  std::string lines;
  for (const json& now : loaded) {
    for (const json& name : now.at("serves")) {
      const json* const before = recorded_provider(recorded, name);
      if (before == nullptr || before->at("sha1") == now.at("sha1")) continue;
      lines += fmt::format("\n  {}: {} before, {} now", name.get<std::string>(), described(*before),
                           described(now));
      break;  // one line a file
    }
  }
  return lines;
}

}  // namespace

json run_manifest(const Run& setup) {
  std::error_code ignored;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {{"s2s", S2S_VERSION_TEXT},
          {"torch", S2S_TORCH_VERSION_TEXT},
          {"started_unix_s", std::chrono::duration_cast<std::chrono::seconds>(now).count()},
          {"command_line", command_line()},
          {"git_commit", git_commit_of(std::filesystem::current_path(ignored))},
          {"host", host_facts()},
          {"plugins", plugin_facts(setup)}};
}

std::string plugin_changes(const std::string& path, const Run& setup) {
  if (!std::filesystem::exists(path)) return {};
  const auto not_comparable = [&](const char* reason) {
    return fmt::format(
        "[run/other-plugin] {}: not a manifest ({}); expected the plugins of the run so far, which "
        "cannot be compared; it is written anew",
        path, reason);
  };
  try {
    const json recorded = parse_foreign_json(read_small_file(path));
    const std::string lines = other_plugins(recorded.at("plugins"), plugin_facts(setup));
    if (lines.empty()) return {};
    return fmt::format(
        "[run/other-plugin] {}: plugins come from other files than in the run so far; expected the "
        "same files, without them the steps to come may differ from those of a run that was never "
        "cut; find them with --plugin-path, or begin a new run{}",
        path, lines);
  } catch (const json::exception& error) {
    return not_comparable(error.what());
  } catch (const std::system_error& error) {
    return not_comparable(error.what());
  }
}

}  // namespace s2s::run
