#include "process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <system_error>

#include "pocketsphinx_errors.h"
#include "s2s/foreign_text.h"

namespace s2s::pocketsphinx {

namespace {

namespace fs = std::filesystem;

std::string last_lines(const fs::path& log, size_t count) {
  std::istringstream in;
  try {
    in.str(read_small_file(log.string()));
  } catch (const std::system_error& error) {
    return std::string("  (") + error.what() + ")";
  }
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back("  " + line + "\n");
  std::string end;
  for (size_t i = lines.size() > count ? lines.size() - count : 0; i < lines.size(); ++i) {
    end += lines[i];
  }
  return end.empty() ? "  (nothing)" : end.substr(0, end.size() - 1);
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) throw cannot_write(parent.string(), error.message());
  std::string name = (parent / "s2s-scorer-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw cannot_write(name, std::strerror(errno));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Process::Process(const std::vector<std::string>& command, const fs::path& log)
    : program_(command.front()), log_(log) {
  ChildSettings settings;
  settings.output_file = log.string();
  settings.error = STDOUT_FILENO;  // the log as well
  settings.blocks_terminal = true;
  settings.time_to_end_s = 5;
  try {
    child_.emplace(command, settings);
  } catch (const std::system_error& error) {
    throw program_failed(program_, "could not be started: " + error.code().message(),
                         "  (nothing)");
  }
}

void Process::wait(std::chrono::duration<double> most_silence) {
  using Clock = std::chrono::steady_clock;
  constexpr double kPause_s = 0.05;
  std::optional<ProcessEnd> end;
  std::uintmax_t num_said = 0;
  Clock::time_point last_word = Clock::now();
  while (!(end = child_->wait(kPause_s))) {
    std::error_code ignored;
    const std::uintmax_t now_said = fs::file_size(log_, ignored);
    if (now_said != num_said) last_word = Clock::now();
    num_said = now_said;
    if (Clock::now() - last_word > most_silence) {
      throw program_failed(program_,
                           fmt::format("printed nothing for {:g} s and was killed (timeout_s)",
                                       most_silence.count()),
                           last_lines(log_, 5));
    }
  }
  if (!end->is_ok())
    throw program_failed(program_, "ended with " + end->text(), last_lines(log_, 5));
}

}  // namespace s2s::pocketsphinx
