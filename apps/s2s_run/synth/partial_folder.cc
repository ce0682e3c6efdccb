#include "s2s_run/synth/partial_folder.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace s2s::synth {

namespace {

namespace fs = std::filesystem;

/// Removes folders of dead processes. Ignores errors.
void remove_leftovers(const fs::path& name) {
  const fs::path parent = name.has_parent_path() ? name.parent_path() : fs::path(".");
  const std::string prefix = name.filename().string() + ".partial-";
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string file = entry.path().filename().string();
    if (file.compare(0, prefix.size(), prefix) != 0) continue;
    const pid_t pid = std::atoi(file.c_str() + prefix.size());
    if (pid > 0 && kill(pid, 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

PartialFolder::PartialFolder(fs::path name, WriteError write_error)
    : name_(std::move(name)), write_error_(write_error) {
  if (!name_.has_filename()) name_ = name_.parent_path();  // a trailing slash
  std::error_code error;
  if (name_.has_parent_path()) fs::create_directories(name_.parent_path(), error);
  if (error) throw write_error_(name_.parent_path().string(), error.message());
  remove_leftovers(name_);
  partial_ = name_.string() + ".partial-" + std::to_string(getpid());
  fs::create_directory(partial_, error);
  if (error) throw write_error_(partial_.string(), error.message());
}

PartialFolder::~PartialFolder() {
  std::error_code ignored;
  if (!committed_) fs::remove_all(partial_, ignored);
}

void PartialFolder::commit() {
  std::error_code error;
  fs::rename(partial_, name_, error);  // replaces an empty folder
  if (error) throw write_error_(name_.string(), error.message());
  committed_ = true;
}

}  // namespace s2s::synth
