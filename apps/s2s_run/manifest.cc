#include "s2s_run/manifest.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "s2s/plugin_note.h"

namespace s2s::run {
namespace {

using nlohmann::json;

std::string first_line_of(const char* command) {
  std::array<char, 256> text{};
  std::FILE* const pipe = popen(command, "r");
  if (pipe == nullptr) return {};
  const bool read = std::fgets(text.data(), text.size(), pipe) != nullptr;
  pclose(pipe);
  std::string line = read ? text.data() : "";
  while (!line.empty() && line.back() == '\n') line.pop_back();
  return line;
}

/// The words this process was started with.
json command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  json words = json::array();
  std::string word;
  while (std::getline(in, word, '\0')) words.push_back(word);
  return words;
}

json host_facts() {
  utsname system{};
  uname(&system);
  return {{"name", system.nodename},
          {"system", std::string(system.sysname) + " " + system.release},
          {"machine", system.machine},
          {"threads", at::get_num_threads()}};
}

json plugin_facts(const RunSetup& setup) {
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

json run_manifest(const RunSetup& setup) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {{"s2s", S2S_VERSION_TEXT},
          {"torch", S2S_TORCH_VERSION_TEXT},
          {"started_unix_s", std::chrono::duration_cast<std::chrono::seconds>(now).count()},
          {"command_line", command_line()},
          {"git_commit", first_line_of("git rev-parse HEAD 2>/dev/null")},
          {"host", host_facts()},
          {"plugins", plugin_facts(setup)}};
}

std::string plugin_changes(const std::string& path, const RunSetup& setup) {
  std::ifstream in(path);
  if (!in) return {};
  try {
    const std::string lines = other_plugins(json::parse(in).at("plugins"), plugin_facts(setup));
    if (lines.empty()) return {};
    return fmt::format(
        "[run/other-plugin] {}: plugins come from other files than in the run so far; expected the "
        "same files, without them the steps to come may differ from those of a run that was never "
        "cut; find them with --plugin-path, or begin a new run{}",
        path, lines);
  } catch (const json::exception& error) {
    return fmt::format(
        "[run/other-plugin] {}: not a manifest ({}); expected the plugins of the run so far, which "
        "cannot be compared; it is written anew",
        path, error.what());
  }
}

}  // namespace s2s::run
