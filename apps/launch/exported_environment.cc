#include "launch/exported_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "launch/shell_words.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"

namespace s2s::launch {
namespace {

constexpr std::array kPrefixes = {"NCCL", "PYTHON", "MV2", "UCX", "OMP_", "S2S_", "GLOO_"};

Error environment_error(const std::string& where, const std::string& problem,
                        const std::string& next) {
  return {ExitCode::kUsage, "launch/environment",
          where + ": " + problem + "\n  next:      " + next};
}

/// Each launcher of a node sets these itself.
bool is_of_launcher(const std::string& name) {
  static const std::set<std::string> kNames = {
      "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
  return kNames.contains(name);
}

void put(Assignments& all, std::pair<std::string, std::string> one) {
  const auto same = std::find_if(all.begin(), all.end(),
                                 [&](const auto& other) { return other.first == one.first; });
  if (same == all.end()) {
    all.push_back(std::move(one));
  } else {
    same->second = one.second;
  }
}

void add_of_process(Assignments& all) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = assignment(text);
    if (equals == std::string::npos || text.starts_with("S2S_LAUNCH")) continue;
    const bool is_exported =
        std::any_of(kPrefixes.begin(), kPrefixes.end(),
                    [&](const char* prefix) { return text.starts_with(prefix); });
    if (is_exported) put(all, {text.substr(0, equals), text.substr(equals + 1)});
  }
}

void add_of_file(Assignments& all, const std::string& file) {
  if (!std::filesystem::exists(file)) return;
  std::istringstream in(read_small_file(file));
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos || line[0] == '#') continue;
    put(all, parse_assignment(line, file + ":" + std::to_string(number)));
  }
}

}  // namespace

std::pair<std::string, std::string> parse_assignment(const std::string& text,
                                                     const std::string& where) {
  const size_t equals = assignment(text);
  if (equals == std::string::npos) {
    throw environment_error(where, "'" + text + "'", "write NAME=VALUE");
  }
  const std::string name = text.substr(0, equals);
  if (is_of_launcher(name)) {
    throw environment_error(where, name + " is set by the launcher",
                            "remove it; --master-addr and --master-port say where ranks meet");
  }
  return {name, text.substr(equals + 1)};
}

Assignments exported_environment(const std::vector<std::string>& given) {
  Assignments all;
  add_of_process(all);
  if (const char* const file = std::getenv("DS_ENV_FILE")) {
    add_of_file(all, file);
  } else {
    const char* const home = std::getenv("HOME");
    if (home != nullptr) add_of_file(all, std::string(home) + "/.deepspeed_env");
    add_of_file(all, ".deepspeed_env");
  }
  for (const std::string& one : given) {
    const bool has_value = one.find('=') != std::string::npos;
    const char* const value = has_value ? nullptr : std::getenv(one.c_str());
    if (!has_value && value == nullptr) {
      throw environment_error("--env " + one, "this variable is not set here",
                              "write --env NAME=VALUE, or set it");
    }
    put(all, parse_assignment(has_value ? one : one + "=" + value, "--env"));
  }
  return all;
}

}  // namespace s2s::launch
