#pragma once
// A disk that fills up, for tests.

#include <sys/resource.h>

#include <csignal>

namespace s2s::test {

/// No file may become larger than so many bytes while this lives: writing more fails.
class FullDisk {
 public:
  explicit FullDisk(rlim_t num_bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit small = before_;
    small.rlim_cur = num_bytes;
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_ = {};
  void (*handler_)(int);
};

}  // namespace s2s::test
