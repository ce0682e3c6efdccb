#include "s2s_run/tune/probe_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/atomic_file.h"
#include "base/foreign_json.h"
#include "base/io_errors.h"
#include "launch/rank_process.h"
#include "plugin/search_path.h"
#include "s2s_run/tune/tune_errors.h"

namespace s2s::run {
namespace {

constexpr size_t kMaxOutputBytes = size_t{1} << 26U;

/// The end of a process; nothing when it ran into the time limit and was killed.
std::optional<launch::RankEnd> end_of(pid_t process, double timeout_s) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                     std::chrono::duration<double>(timeout_s));
  int status = 0;
  while (::waitpid(process, &status, WNOHANG) == 0) {
    if (Clock::now() > until) {
      ::kill(-process, SIGKILL);
      ::waitpid(process, &status, 0);
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (WIFSIGNALED(status)) return launch::RankEnd{0, WTERMSIG(status)};
  return launch::RankEnd{WEXITSTATUS(status), 0};
}

/// A process that has no memory left may also crash, or be ended by the system.
bool ran_out(const launch::RankEnd& end, const std::string& output) {
  const int code = end.code();
  const bool is_killed = code == 128 + SIGKILL || code == 128 + SIGSEGV || code == 128 + SIGABRT ||
                         code == 128 + SIGBUS;
  return code == kOutOfMemory || is_killed || output.find("out of memory: ") != std::string::npos;
}

std::string last_lines(const std::string& output) {
  constexpr size_t kShown = 2000;
  return output.size() <= kShown ? output : "..." + output.substr(output.size() - kShown);
}

/// The line that a probe prints; null when there is none.
nlohmann::json result_in(const std::string& output) {
  std::istringstream lines(output);
  nlohmann::json found;
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find("{\"model_bytes\"");
    if (begin != std::string::npos) found = try_parse_foreign_json(line.substr(begin));
  }
  return found;
}

/// The caching allocator of a GPU gets a share of its memory. LibTorch reads both variables.
std::map<std::string, std::string> environment_of(double memory_fraction) {
  const char* const names[] = {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"};
  std::string settings;
  for (const char* const name : names) {
    const char* const written = std::getenv(name);
    if (written != nullptr && *written != '\0') settings = std::string(written) + ",";
  }
  settings += fmt::format("per_process_memory_fraction:{}", memory_fraction);
  return {{names[0], settings}, {names[1], settings}};
}

}  // namespace

std::vector<std::string> ProbeRunner::words(const ProbeBatch& batch) const {
  std::vector<std::string> words = {this_executable()};
  if (arguments_.ranks > 1) {
    for (const std::string& word : {std::string("launch"), std::string("local"), std::string("-n"),
                                    std::to_string(arguments_.ranks), std::string("--")}) {
      words.push_back(word);
    }
  }
  words.emplace_back("tune-batch");
  words.push_back(arguments_.config.path);
  words.insert(words.end(), arguments_.config.overrides.begin(), arguments_.config.overrides.end());
  words.emplace_back("--probe");
  words.push_back(fmt::format("{},{},{}", batch.rows, batch.duration_s, batch.tokens));
  if (limit_bytes_ > 0) {
    words.emplace_back("--memory-limit");
    words.push_back(fmt::format("{}B", limit_bytes_));
  }
  return words;
}

std::string ProbeRunner::output_file() const {
  const std::string folder = arguments_.log_folder.empty()
                                 ? std::filesystem::temp_directory_path().string()
                                 : arguments_.log_folder;
  make_folders(folder);
  return fmt::format("{}/tune-batch.{}.{}.txt", folder, ::getpid(), num_run_);
}

BatchTrial ProbeRunner::run(const ProbeBatch& batch) {
  for (int64_t attempt = 0;; ++attempt) {
    ++num_run_;
    const std::string file = output_file();
    // In a folder that all users write to, the file must be a new one.
    const int flag = arguments_.log_folder.empty() ? O_EXCL : O_TRUNC;
    const int output =
        ::open(file.c_str(), O_WRONLY | O_CREAT | flag | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (output < 0) throw write_error(file, "cannot write", errno);
    launch::RankCommand command;
    command.words = words(batch);
    command.environment = environment_of(arguments_.memory_fraction);
    const pid_t process = launch::start_rank(command, output);
    ::close(output);
    const std::optional<launch::RankEnd> end = end_of(process, arguments_.timeout_s);
    const std::string said = read_small_file(file, kMaxOutputBytes);
    if (arguments_.log_folder.empty()) std::filesystem::remove(file);
    BatchTrial trial{batch.rows, false};
    if (end && end->code() == 0) {
      const nlohmann::json result = result_in(said);
      if (result.is_object()) {
        trial.peak_bytes = result.value("peak_bytes", 0.0);
        trial.model_bytes = result.value("model_bytes", 0.0);
        trial.fits = limit_bytes_ == 0 || trial.peak_bytes <= static_cast<double>(limit_bytes_);
        return trial;
      }
    }
    if (end && ran_out(*end, said)) return trial;
    if (attempt >= arguments_.retries) {
      const std::string how =
          end ? end->text() : fmt::format("did not end within {:g} s", arguments_.timeout_s);
      throw tune_errors::probe_failed(batch.rows, length_text(batch.duration_s, batch.tokens), how,
                                      last_lines(said));
    }
  }
}

}  // namespace s2s::run
