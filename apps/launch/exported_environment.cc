#include "launch/exported_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "launch/shell_words.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"

namespace s2s::launch {
namespace {

constexpr std::array kPrefixes = {"NCCL", "PYTHON", "MV2", "UCX", "OMP_", "S2S_", "GLOO_"};

/// Names of variables that make a program load or run what they name, or take permissions from
/// them. `*` matches any ending.
constexpr std::array kRunsCode = {"LD_*",
                                  "PYTHON*",
                                  "PERL5*",
                                  "RUBY*",
                                  "NODE_*",
                                  "BASH_*",
                                  "ENV",
                                  "PATH",
                                  "HOME",
                                  "IFS",
                                  "SHELL",
                                  "PS4",
                                  "PROMPT_COMMAND",
                                  "GCONV_PATH",
                                  "GLIBC_TUNABLES",
                                  "LOCPATH",
                                  "TMPDIR",
                                  "XDG_*",
                                  "SSH_*",
                                  "OMP_TOOL_LIBRARIES",
                                  "NCCL_*PLUGIN",
                                  "NCCL_CONF_FILE",
                                  "UCX_MODULE*",
                                  "UCX_CONFIG_DIR",
                                  "OMPI_*",
                                  "PMIX_*",
                                  "CUDA_INJECTION*",
                                  "NVIDIA_*",
                                  "KINETO_*",
                                  "TORCH_*",
                                  "S2S_ALLOW_*",
                                  "S2S_PLUGIN_PATH",
                                  "S2S_DEVICE_LIBRARY",
                                  "S2S_UNTRUSTED",
                                  "MLFLOW_*",
                                  "WANDB_*"};

bool matches(const std::string& name, std::string_view pattern) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  const std::string_view begin = pattern.substr(0, star), end = pattern.substr(star + 1);
  return name.size() >= begin.size() + end.size() && name.starts_with(begin) && name.ends_with(end);
}

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

/// One of the user's own files; it need not exist.
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

std::string unread_environment_file() {
  std::error_code error;
  const bool is_there = std::filesystem::exists(".deepspeed_env", error);
  const char* const home = std::getenv("HOME");
  const bool is_own =
      is_there && home != nullptr &&
      std::filesystem::equivalent(".deepspeed_env", std::string(home) + "/.deepspeed_env", error);
  return is_there && !is_own && std::getenv("DS_ENV_FILE") == nullptr ? ".deepspeed_env" : "";
}

Assignments read_environment_file(const std::string& file) {
  Assignments all;
  if (!std::filesystem::exists(file)) {
    throw environment_error("--env-file " + file, "the file does not exist", "check the path");
  }
  add_of_file(all, file);
  for (const auto& [name, value] : all) {
    const bool runs_code = std::any_of(kRunsCode.begin(), kRunsCode.end(),
                                       [&](const char* one) { return matches(name, one); });
    if (runs_code) {
      throw environment_error(
          "--env-file " + file,
          name + " is not taken from a file, because it can make programs run or load others",
          "remove the line; if you want the value, write --env " + name + "=VALUE");
    }
  }
  return all;
}

Assignments exported_environment(const std::vector<std::string>& given,
                                 const std::vector<std::string>& files) {
  Assignments all;
  add_of_process(all);
  const char* const home = std::getenv("HOME");
  if (const char* const file = std::getenv("DS_ENV_FILE")) {
    add_of_file(all, file);
  } else if (home != nullptr) {
    add_of_file(all, std::string(home) + "/.deepspeed_env");
  }
  for (const std::string& file : files) {
    for (auto& one : read_environment_file(file)) put(all, std::move(one));
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
