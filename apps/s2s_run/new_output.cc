#include "s2s_run/new_output.h"

#include <filesystem>

#include "base/io_errors.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

bool holds_something(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) return !fs::is_empty(path, ignored);
  return fs::is_regular_file(status) || fs::is_symlink(path, ignored);
}

}  // namespace

void require_new(const std::vector<std::string>& paths, bool force) {
  for (const std::string& path : paths) {
    if (!force && holds_something(path)) throw exists_error(path);
  }
}

}  // namespace s2s::run
