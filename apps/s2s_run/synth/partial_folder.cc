#include "s2s_run/synth/partial_folder.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "base/atomic_file.h"

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

PartialFolder::PartialFolder(fs::path name) : name_(std::move(name)) {
  if (!name_.has_filename()) name_ = name_.parent_path();  // a trailing slash
  remove_leftovers(name_);
  partial_ = name_.string() + ".partial-" + std::to_string(getpid());
  make_folders(partial_.string());
}

PartialFolder::~PartialFolder() {
  std::error_code ignored;
  if (!committed_) fs::remove_all(partial_, ignored);
}

void PartialFolder::commit() {
  rename_durably(partial_.string(), name_.string());  // replaces an empty folder
  committed_ = true;
}

}  // namespace s2s::synth
