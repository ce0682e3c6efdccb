#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <thread>

#include "base/number_text.h"
#include "base/text.h"
#include "comm/launch_environment.h"
#include "s2s/error.h"
#include "s2s_run/doctor/finding.h"

namespace s2s::run {
namespace {

/// What is wrong with a value, or nothing.
struct Trouble {
  Level level = Level::kWarning;
  std::string remedy;
};

using Judge = std::optional<Trouble> (*)(const std::string& value);

std::optional<Trouble> fine(const std::string&) { return std::nullopt; }

std::optional<Trouble> check_threads(const std::string& value) {
  const auto threads = read_number<int64_t>(value);
  if (!threads || *threads < 1)
    return Trouble{Level::kWarning, "give a number above 0, or unset it"};
  const auto cores = static_cast<int64_t>(std::thread::hardware_concurrency());
  if (*threads <= cores) return std::nullopt;
  return Trouble{Level::kWarning, fmt::format("at most {}: there are no more processors", cores)};
}

std::optional<Trouble> check_wait_policy(const std::string& value) {
  if (value != "active" && value != "ACTIVE") return std::nullopt;
  return Trouble{Level::kWarning,
                 "unset it: waiting threads keep the processors from other programs"};
}

std::optional<Trouble> check_visible(const std::string& value) {
  if (!value.empty() && value != "-1") return std::nullopt;
  return Trouble{Level::kWarning, "unset it: it hides every GPU"};
}

std::optional<Trouble> check_off(const std::string& value) {
  if (value.empty() || value == "0") return std::nullopt;
  return Trouble{Level::kWarning, "unset it for training: it makes every step slower"};
}

std::optional<Trouble> check_folders(const std::string& value) {
  for (size_t begin = 0; begin <= value.size();) {
    const size_t end = std::min(value.find(':', begin), value.size());
    const std::string folder = value.substr(begin, end - begin);
    if (!folder.empty() && !std::filesystem::is_directory(folder)) {
      return Trouble{Level::kWarning, folder + " is no folder: correct the path"};
    }
    begin = end + 1;
  }
  return std::nullopt;
}

std::optional<Trouble> check_no_device(const std::string&) {
  return Trouble{Level::kWarning, "unset it: it replaces LibTorch's CUDA libraries"};
}

std::optional<Trouble> check_preload(const std::string&) {
  return Trouble{Level::kNote, "unset it if a library cannot be loaded or crashes"};
}

struct Variable {
  const char* name;
  Judge judge;
};

constexpr Variable kVariables[] = {
    {"S2S_PLUGIN_PATH", check_folders},
    {"S2S_DEVICE_LIBRARY", check_no_device},
    {"S2S_ALLOW_COMMANDS", fine},
    {"S2S_UNTRUSTED", fine},
    {"S2S_COMMAND_TIMEOUT_S", fine},
    {"OMP_NUM_THREADS", check_threads},
    {"MKL_NUM_THREADS", check_threads},
    {"OMP_WAIT_POLICY", check_wait_policy},
    {"CUDA_VISIBLE_DEVICES", check_visible},
    {"CUDA_LAUNCH_BLOCKING", check_off},
    {"CUBLAS_WORKSPACE_CONFIG", fine},
    {"PYTORCH_CUDA_ALLOC_CONF", fine},
    {"PYTORCH_NO_CUDA_MEMORY_CACHING", check_off},
    {"NCCL_DEBUG", fine},
    {"NCCL_P2P_DISABLE", check_off},
    {"NCCL_SHM_DISABLE", check_off},
    {"NCCL_IB_DISABLE", fine},
    {"TORCH_DISTRIBUTED_DEBUG", fine},
    {"LD_PRELOAD", check_preload},
    {"LD_LIBRARY_PATH", fine},
};

/// The variables of launchers: this shell may be inside a job.
Finding launcher_finding() {
  try {
    const LaunchEnvironment launch = read_launch_environment();
    if (launch.launcher == Launcher::kNone)
      return {"launcher", Level::kOk, "none: one process", ""};
    return {"launcher", Level::kNote,
            fmt::format("{}: rank {} of {} ({})", to_string(launch.launcher), launch.rank,
                        launch.size, launch.reason),
            ""};
  } catch (const Error& error) {
    return {"launcher", Level::kError, first_line_in(error.what()),
            "correct the variable, or unset it to train in one process"};
  }
}

}  // namespace

std::vector<Finding> environment_findings() {
  std::vector<Finding> out = {launcher_finding()};
  for (const Variable& variable : kVariables) {
    const char* const value = std::getenv(variable.name);
    if (value == nullptr) continue;
    const std::optional<Trouble> trouble = variable.judge(value);
    out.push_back({"environment", trouble ? trouble->level : Level::kNote,
                   fmt::format("{}={}", variable.name, value), trouble ? trouble->remedy : ""});
  }
  return out;
}

}  // namespace s2s::run
