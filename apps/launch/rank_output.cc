#include "launch/rank_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "s2s/error.h"
#include "s2s/foreign_text.h"

namespace s2s::launch {
namespace {

constexpr size_t kNumLastLines = 20;

Error log_error(const std::string& file, const std::string& reason) {
  return {ExitCode::kData, "io/write",
          file + ": " + reason + "; choose another folder with --log-dir"};
}

}  // namespace

RankOutput::RankOutput(int rank, const std::string& log_folder)
    : prefix_("[rank " + std::to_string(rank) + "] ") {
  if (log_folder.empty()) return;
  std::error_code failure;
  std::filesystem::create_directories(log_folder, failure);
  file_ = (std::filesystem::path(log_folder) / ("rank_" + std::to_string(rank) + ".log")).string();
  log_.open(file_, std::ios::app);
  if (!log_) throw log_error(file_, failure ? failure.message() : std::strerror(errno));
}

void RankOutput::add(const char* data, size_t size) {
  pending_.append(data, size);
  for (size_t end; (end = pending_.find('\n')) != std::string::npos;) {
    add_line(pending_.substr(0, end));
    pending_.erase(0, end + 1);
  }
}

void RankOutput::end() {
  if (!pending_.empty()) add_line(std::move(pending_));
  pending_.clear();
}

void RankOutput::add_line(std::string line) {
  if (log_.is_open()) {
    log_ << line << '\n' << std::flush;
  } else {
    std::fprintf(stderr, "%s%s\n", prefix_.c_str(), printable(line).c_str());
  }
  keep(std::move(line));
}

bool RankOutput::add_message(const std::string& message) {
  std::istringstream lines(message);
  for (std::string line; std::getline(lines, line);) keep(line);
  if (!log_.is_open()) return false;
  log_ << message << '\n' << std::flush;
  return true;
}

void RankOutput::keep(std::string line) {
  last_lines_.push_back(std::move(line));
  if (last_lines_.size() > kNumLastLines) last_lines_.pop_front();
}

}  // namespace s2s::launch
