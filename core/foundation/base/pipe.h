#pragma once
// A pipe between this process and a child.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace s2s {

/// Both ends are closed on exec, and with the object.
class Pipe {
 public:
  /// Errors: std::system_error.
  Pipe() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) {
      throw std::system_error(errno, std::generic_category(), "pipe");
    }
  }
  ~Pipe() {
    close_read_end();
    close_write_end();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void close_read_end() { close_one(ends_[0]); }
  void close_write_end() { close_one(ends_[1]); }

 private:
  static void close_one(int& end) {
    if (end >= 0) ::close(std::exchange(end, -1));
  }
  int ends_[2] = {-1, -1};
};

}  // namespace s2s
