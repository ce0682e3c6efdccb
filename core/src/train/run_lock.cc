#include "train/run_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "train/train_errors.h"

namespace s2s {
namespace {

std::string this_process() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return fmt::format("process {} on {}", getpid(), host.data());
}

std::string first_line(int file) {
  std::array<char, 512> text{};
  const ssize_t length = pread(file, text.data(), text.size(), 0);
  const std::string all(text.data(), length > 0 ? static_cast<size_t>(length) : 0);
  return all.substr(0, all.find('\n'));
}

}  // namespace

RunLock::RunLock(const std::string& folder) {
  const std::string path = folder + "/.lock";
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) throw_run_folder(folder, std::strerror(errno));
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    const bool is_held = errno == EWOULDBLOCK;
    const std::string holder = first_line(file_);
    close(file_);
    file_ = -1;
    if (is_held) throw_run_in_use(folder, holder);
    return;
  }
  // A name for the message only: a full disk is found by what the run writes.
  const std::string name = this_process();
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
