#include "train/run_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/host_name.h"
#include "s2s/foreign_text.h"
#include "train/train_errors.h"

namespace s2s {
namespace {

std::string first_line(int file) {
  std::array<char, 512> text{};
  const ssize_t length = pread(file, text.data(), text.size(), 0);
  const std::string all(text.data(), length > 0 ? static_cast<size_t>(length) : 0);
  return all.substr(0, all.find('\n'));
}

std::string no_lock_warning(const std::string& folder, const std::string& reason,
                            const OwnerSettings& settings) {
  return fmt::format(
      "[run/no-lock] the file system of {} gives no lock: {}; the file .owner keeps other runs out "
      "instead, and after a crash a run on another machine waits {:g} s before it goes on\n"
      "  next:      mount it with locks where you can (Lustre: -o flock; NFS: with lockd)",
      folder, reason, std::chrono::duration<double>(settings.patience).count());
}

}  // namespace

std::string process_name(pid_t process) {
  return fmt::format("process {} on {}", process, host_name());
}

RunLock::RunLock(const std::string& folder, const OwnerSettings& settings) {
  const std::string path = folder + "/.lock";
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) throw_run_folder(folder, std::strerror(errno));
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    const bool is_held = reason == EWOULDBLOCK;
    const std::string holder = first_line(file_);
    close(file_);
    file_ = -1;
    if (is_held) throw_run_in_use(folder, printable_name(holder));
    owner_ = std::make_unique<OwnerFile>(folder, settings);
    warning_ = no_lock_warning(folder, std::strerror(reason), settings);
    return;
  }
  // A name for the message only: a full disk is found by what the run writes.
  const std::string name = process_name(getpid());
  const bool is_written =
      ftruncate(file_, 0) == 0 && pwrite(file_, name.data(), name.size(), 0) > 0;
  static_cast<void>(is_written);
}

RunLock::~RunLock() {
  if (file_ < 0) return;
  const bool is_emptied = ftruncate(file_, 0) == 0;  // nobody holds it: no name
  static_cast<void>(is_emptied);
  close(file_);
}

}  // namespace s2s
