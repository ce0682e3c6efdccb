#include "base/outside_current_folder.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <exception>

#include "s2s/error.h"
#include "s2s/threads.h"

namespace s2s {
namespace {

/// Restores the old folder, also after an exception.
class ChangedFolder {
 public:
  ChangedFolder() : before_(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    is_changed_ = ::chdir("/") == 0;
  }
  ~ChangedFolder() {
    if (before_ < 0) return;
    // If the folder was removed meanwhile, / is as good.
    if (is_changed_) is_changed_ = ::fchdir(before_) != 0;
    ::close(before_);
  }
  ChangedFolder(const ChangedFolder&) = delete;
  ChangedFolder& operator=(const ChangedFolder&) = delete;

 private:
  int before_ = -1;
  bool is_changed_ = false;
};

}  // namespace

void outside_current_folder(const std::function<void()>& load) {
  bool is_done = false;
  std::exception_ptr problem;
  const auto load_apart = [&] {
    // Containers may forbid it.
    if (::unshare(CLONE_FS) != 0 || ::chdir("/") != 0) return;
    is_done = true;
    try {
      load();
    } catch (...) {
      problem = std::current_exception();
    }
  };
  try {
    start_thread(load_apart).join();
  } catch (const Error&) {  // no thread can be started
  }
  if (problem) std::rethrow_exception(problem);
  if (is_done) return;
  const ChangedFolder elsewhere;
  load();
}

}  // namespace s2s
