#include "s2s_run/checkpoint/export_folder.h"

#include <filesystem>

#include "base/atomic_file.h"
#include "base/io_errors.h"
#include "s2s_run/new_output.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

bool is_of_model(const std::string& name) {
  if (name.starts_with(".")) return false;
  for (const char* ending : {".safetensors", ".json", ".bin", ".model"}) {
    if (name.ends_with(ending)) return true;
  }
  return false;
}

/// Whether files of a model lie in a folder, or may: one that cannot be listed is not taken for an
/// empty one.
bool has_model(const fs::path& folder) {
  std::error_code problem;
  fs::directory_iterator entry(folder, problem);
  for (; !problem && entry != fs::directory_iterator(); entry.increment(problem)) {
    if (is_of_model(entry->path().filename().string())) return true;
  }
  return problem && problem != std::errc::no_such_file_or_directory;
}

}  // namespace

ExportFolder::ExportFolder(const std::string& path, bool force)
    : path_(path), mark_((fs::path(path) / ".s2s-export-unfinished").string()) {
  const bool was_killed = fs::exists(mark_);
  for (const char* name : {"state.json", "index.json"}) {
    const fs::path file = fs::path(path) / name;
    if (!fs::exists(file)) continue;
    throw Error(ExitCode::kData, "io/exists",
                "'" + path +
                    "' is a checkpoint of a run, and nothing was written; name another "
                    "place");
  }
  if (has_model(path)) require_new({path}, force || was_killed);
  make_folders(path);
  write_file_atomically(mark_, "");
  remove_partial_files(path);
}

ExportFolder::~ExportFolder() {
  std::error_code ignored;
  if (mark_.empty() || has_model(path_)) return;
  fs::remove(mark_, ignored);
  fs::remove(path_, ignored);  // an empty one only
}

void ExportFolder::finish() {
  fs::remove(mark_);
  mark_.clear();
}

}  // namespace s2s::run
