#include "checkpoint/checkpoint_probe.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <system_error>
#include <vector>

#include "base/atomic_file.h"
#include "train/train_errors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

// Names of interrupted saves: the next start removes what a killed probe leaves.
constexpr const char* kProbe = ".step=probe.partial";
constexpr const char* kRenamed = ".step=probed.partial";
constexpr size_t kProbeBytes = 4096;

void try_saving(const fs::path& folder) {
  const fs::path probe = folder / kProbe, renamed = folder / kRenamed;
  make_folders(folder.string());
  fs::remove_all(probe);
  fs::remove_all(renamed);
  fs::create_directory(probe);
  write_file_atomically((probe / "file").string(), std::string(kProbeBytes, 's'));
  fs::create_symlink("file", probe / "link");
  rename_durably(probe.string(), renamed.string());
  fs::remove_all(renamed);
}

/// `path`, or the nearest existing folder above it.
fs::path nearest_there(const fs::path& path) {
  std::error_code ignored;
  fs::path place = fs::absolute(path, ignored).lexically_normal();
  while (place.has_relative_path() && !fs::exists(fs::symlink_status(place, ignored))) {
    place = place.parent_path();
  }
  return place;
}

}  // namespace

void probe_saving(const fs::path& folder) {
  std::error_code ignored;
  const bool is_new = !fs::exists(folder, ignored);
  const auto leave = [&] {
    if (is_new) fs::remove(folder, ignored);  // the first save makes it
  };
  const auto refuse = [&](const std::string& reason) {
    fs::remove_all(folder / kProbe, ignored);
    fs::remove_all(folder / kRenamed, ignored);
    leave();
    throw checkpoint_write_error((folder / "step=N").string(),
                                 reason + " (tried before the first step)");
  };
  try {
    try_saving(folder);
  } catch (const Error& error) {
    refuse(error.message());
  } catch (const fs::filesystem_error& error) {
    refuse(fmt::format("{}: {}", error.path1().string(), error.code().message()));
  }
  leave();
}

std::string place_fault(const fs::path& path, bool saves) {
  std::error_code problem, ignored;
  const bool is_there = fs::exists(fs::symlink_status(path, problem));
  if (!is_there && problem && problem != std::errc::no_such_file_or_directory) {
    return problem.message();
  }
  std::string probe = (nearest_there(path) / ".s2s-probe-XXXXXX").string();
  if (::mkdtemp(probe.data()) == nullptr) return std::generic_category().message(errno);
  std::string reason;
  try {
    if (saves) try_saving(fs::path(probe) / "checkpoints");
  } catch (const Error& error) {
    reason = error.message();
  } catch (const fs::filesystem_error& error) {
    reason = error.code().message();
  }
  fs::remove_all(probe, ignored);
  return reason;
}

std::string room_fault(const fs::path& folder, int64_t num_bytes) {
  struct statvfs disk = {};
  const fs::path place = nearest_there(folder);
  // Some network file systems do not know their size.
  if (statvfs(place.c_str(), &disk) != 0 || disk.f_blocks == 0) return "";
  const double free = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  const double most = static_cast<double>(std::numeric_limits<int64_t>::max());
  return free >= most ? "" : room_fault(static_cast<int64_t>(free), num_bytes);
}

std::string room_fault(int64_t free_bytes, int64_t num_bytes) {
  if (free_bytes >= num_bytes) return "";
  constexpr double kMegabyte = 1e6;
  return fmt::format("{:.1f} MB are free on its disk, and a checkpoint takes at least {:.1f} MB",
                     static_cast<double>(free_bytes) / kMegabyte,
                     static_cast<double>(num_bytes) / kMegabyte);
}

}  // namespace s2s
