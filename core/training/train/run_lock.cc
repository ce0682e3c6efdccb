#include "train/run_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/machine.h"
#include "s2s/foreign_text.h"
#include "s2s/threads.h"
#include "train/train_errors.h"

namespace s2s {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr size_t kLargestFile = 4096;

/// Returns the content of the file, or nothing when the file no longer exists.
std::optional<std::string> content_of(const std::string& path) {
  try {
    return read_small_file(path, kLargestFile);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::no_such_file_or_directory) return std::nullopt;
    throw;
  }
}

std::string word_in(const std::string& file) {
  const std::string text = content_of(file).value_or("?");
  return text.substr(0, text.find('\n'));
}

/// Identifies the boot of this machine and the container. Process ids are comparable within it
/// only.
std::string this_place() {
  std::error_code ignored;
  const std::string container = std::filesystem::read_symlink("/proc/self/ns/pid", ignored);
  return word_in("/proc/sys/kernel/random/boot_id") + " " + container;
}

/// Start time of a process of this place, in clock ticks since boot. Returns "" when the process
/// has ended, and nothing when /proc hides it. The start time distinguishes a process from a later
/// one that reuses its id.
std::optional<std::string> start_of(pid_t process) {
  if (::kill(process, 0) != 0 && errno == ESRCH) return "";
  const std::optional<std::string> text = content_of(fmt::format("/proc/{}/stat", process));
  if (!text) return std::nullopt;
  // The second field is the process name in parentheses, which may contain blanks. Start time:
  // field 22.
  size_t begin = text->rfind(')');
  const bool is_zombie = begin != std::string::npos && text->substr(begin, 3) == ") Z";
  if (is_zombie) return "";
  for (int field = 2; field < 22 && begin != std::string::npos; ++field) {
    begin = text->find(' ', begin + 1);
  }
  if (begin == std::string::npos) return "";
  return text->substr(begin + 1, text->find(' ', begin + 1) - begin - 1);
}

/// Returns "process 17 on node1\nplace ...\nstart 4711\n".
std::string identity_of(pid_t process) {
  return fmt::format("{}\nplace {}\nstart {}\n", process_name(process), this_place(),
                     start_of(process).value_or(""));
}

/// Returns the id of the process that the file names, or 0 when the file was written on another
/// machine or in another container.
pid_t process_here(const std::string& text) {
  if (text.find("\nplace " + this_place() + "\n") == std::string::npos) return 0;
  int process = 0;
  return std::sscanf(text.c_str(), "process %d on ", &process) == 1 ? process : 0;
}

/// Returns true when the owner that wrote `text` has ended. When the owner runs on another machine
/// or is hidden from this process, waits to see whether the file changes.
bool is_dead(const std::string& path, const std::string& text, milliseconds patience) {
  if (const pid_t process = process_here(text)) {
    const std::optional<std::string> start = start_of(process);
    if (start) return start->empty() || text.find("\nstart " + *start + "\n") == std::string::npos;
  }
  const Clock::time_point limit = Clock::now() + patience;
  const milliseconds pause = std::max(milliseconds(1), patience / 30);
  while (Clock::now() < limit) {
    std::this_thread::sleep_for(pause);
    const std::optional<std::string> now = content_of(path);
    if (!now) return true;
    if (*now != text) return false;
  }
  return true;
}

/// Removes the file of a dead owner. Keeps a file that another process has created in the meantime.
void set_aside(const std::string& path, const std::string& text) {
  const std::string aside = fmt::format("{}.{}", path, ::getpid());
  if (::rename(path.c_str(), aside.c_str()) != 0) return;
  const bool is_other = content_of(aside).value_or(text) != text;
  const bool is_back = is_other && ::link(aside.c_str(), path.c_str()) == 0;
  // The link fails when another process has created the file again. Its file then counts.
  static_cast<void>(is_back);
  ::unlink(aside.c_str());
}

std::string first_line(int file) {
  std::array<char, 512> text{};
  const ssize_t length = pread(file, text.data(), text.size(), 0);
  const std::string all(text.data(), length > 0 ? static_cast<size_t>(length) : 0);
  return all.substr(0, all.find('\n'));
}

std::string no_lock_warning(const std::string& folder, const std::string& reason,
                            const OwnerSettings& settings) {
  return fmt::format(
      "[run/no-lock] the file system of {} does not support locks: {}; the file .owner protects "
      "the folder instead, and after a crash a run on another machine waits {:g} s before it "
      "starts\n"
      "  next:      mount it with lock support if possible (Lustre: -o flock; NFS: with lockd)",
      folder, reason, std::chrono::duration<double>(settings.patience).count());
}

}  // namespace

OwnerFile::OwnerFile(const std::string& folder, const OwnerSettings& settings)
    : path_(folder + "/.owner"), identity_(identity_of(::getpid())) {
  try {
    take(folder, settings.patience);
    thread_ = start_thread([this, interval = settings.beat] { beat(interval); });
  } catch (const std::system_error& error) {
    remove();
    throw_run_folder(folder, error.code().message());
  } catch (...) {
    remove();
    throw;
  }
}

OwnerFile::~OwnerFile() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wakes_.notify_all();
  thread_.join();
  remove();
}

void OwnerFile::take(const std::string& folder, milliseconds patience) {
  while (true) {
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ >= 0) break;
    if (errno != EEXIST) throw_run_folder(folder, std::strerror(errno));
    const std::optional<std::string> other = content_of(path_);
    if (!other) continue;  // the owner released it just now
    if (!is_dead(path_, *other, patience)) {
      throw_run_in_use(folder, printable_name(other->substr(0, other->find('\n'))));
    }
    set_aside(path_, *other);
  }
  const ssize_t written = ::pwrite(file_, identity_.data(), identity_.size(), 0);
  if (written == static_cast<ssize_t>(identity_.size())) return;
  const int reason = written < 0 ? errno : ENOSPC;
  ::unlink(path_.c_str());  // without an owner's text, the file cannot be identified later
  throw_run_folder(folder, std::strerror(reason));
}

void OwnerFile::remove() {
  if (file_ < 0) return;
  ::close(file_);
  file_ = -1;
  try {
    if (content_of(path_).value_or("").starts_with(identity_)) ::unlink(path_.c_str());
    // The file remains. The next run finds that its owner is dead.
  } catch (const std::exception&) {
  }
}

void OwnerFile::beat(milliseconds interval) {
  std::unique_lock lock(mutex_);
  for (int64_t count = 1; !wakes_.wait_for(lock, interval, [this] { return ends_; }); ++count) {
    lock.unlock();
    const std::string line = fmt::format("beat {:020}\n", count);
    const auto end = static_cast<off_t>(identity_.size());
    // Other machines see only what has reached the file server. A failed heartbeat is followed by
    // others.
    const bool is_said =
        ::pwrite(file_, line.data(), line.size(), end) > 0 && ::fdatasync(file_) == 0;
    static_cast<void>(is_said);
    lock.lock();
  }
}

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
  // The name is only for messages. A full disk is reported when the run writes its other files.
  const std::string name = process_name(getpid());
  const bool is_written =
      ftruncate(file_, 0) == 0 && pwrite(file_, name.data(), name.size(), 0) > 0;
  static_cast<void>(is_written);
}

RunLock::~RunLock() {
  if (file_ < 0) return;
  // Clear the name of the previous owner while nobody holds the lock.
  const bool is_emptied = ftruncate(file_, 0) == 0;
  static_cast<void>(is_emptied);
  close(file_);
}

}  // namespace s2s
