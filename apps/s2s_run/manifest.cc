#include "s2s_run/manifest.h"

#include <ATen/Parallel.h>
#include <sys/utsname.h>
#include <unistd.h>

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

}  // namespace s2s::run
