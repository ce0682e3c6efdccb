#include "provenance/manifest.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <system_error>

#include "base/foreign_json.h"
#include "config/secrets.h"
#include "provenance/git_state.h"
#include "s2s/foreign_text.h"
#include "s2s/plugin_note.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

using nlohmann::json;

/// Returns the command line of this process, without secrets.
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

json plugin_facts(const PluginHost& host) {
  json plugins = json::array();
  for (const LoadedPlugin& plugin : host.loaded()) {
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

/// Returns the recorded plugin that provided `name`, or null.
const json* recorded_provider(const json& plugins, const json& name) {
  for (const json& plugin : plugins) {
    const json& serves = plugin.at("serves");
    if (std::find(serves.begin(), serves.end(), name) != serves.end()) return &plugin;
  }
  return nullptr;
}

/// Returns "adamw 0.1.0 (FILE, sha1 0123456789ab)".
std::string plugin_text(const json& plugin) {
  const auto text = [&](const char* key) { return plugin.at(key).get<std::string>(); };
  return fmt::format("{} {} ({}, sha1 {})", text("name"), text("version"), text("file"),
                     text("sha1").substr(0, 12));
}

/// Returns a line for each loaded plugin whose file differs from the recorded file of its names.
std::string other_plugins(const json& recorded, const json& loaded) {
  std::string lines;
  for (const json& now : loaded) {
    for (const json& name : now.at("serves")) {
      const json* const before = recorded_provider(recorded, name);
      if (before == nullptr || before->at("sha1") == now.at("sha1")) continue;
      lines += fmt::format("\n  {}: {} before, {} now", name.get<std::string>(),
                           plugin_text(*before), plugin_text(now));
      break;  // one line per file
    }
  }
  return lines;
}

}  // namespace

json run_manifest(const PluginHost& host) {
  std::error_code ignored;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {{"s2s", S2S_VERSION_TEXT},
          {"torch", S2S_TORCH_VERSION_TEXT},
          {"started_unix_s", std::chrono::duration_cast<std::chrono::seconds>(now).count()},
          {"command_line", command_line()},
          {"git_commit", read_git_state(fs::current_path(ignored)).commit},
          {"host", host_facts()},
          {"plugins", plugin_facts(host)}};
}

std::string run_id_of(const std::string& path) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  constexpr size_t kLength = 8;
  try {
    const json manifest = try_parse_foreign_json(read_small_file(path));
    const std::string id = manifest.is_object() ? manifest.value("run_id", "") : "";
    if (id.size() == kLength && id.find_first_not_of(kLetters) == std::string::npos) return id;
  } catch (const json::exception&) {
  } catch (const std::system_error&) {
  }
  std::random_device random;
  std::string id;
  while (id.size() < kLength) id += kLetters[random() % kLetters.size()];
  return id;
}

std::string plugin_changes(const std::string& path, const PluginHost& host) {
  if (!fs::exists(path)) return {};
  const auto not_comparable = [&](const char* reason) {
    return fmt::format(
        "[run/other-plugin] {}: not a manifest ({}); expected the plugins of the run so far, which "
        "cannot be compared; the file is written again",
        path, reason);
  };
  try {
    const json recorded = parse_foreign_json(read_small_file(path));
    const std::string lines = other_plugins(recorded.at("plugins"), plugin_facts(host));
    if (lines.empty()) return {};
    return fmt::format(
        "[run/other-plugin] {}: plugins come from other files than in the run so far; expected the "
        "same files, because other files may change the results; give the same ones with "
        "--plugin-path, or start a new run{}",
        path, lines);
  } catch (const json::exception& error) {
    return not_comparable(error.what());
  } catch (const std::system_error& error) {
    return not_comparable(error.what());
  }
}

}  // namespace s2s::run
