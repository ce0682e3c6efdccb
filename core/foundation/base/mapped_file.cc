#include "base/mapped_file.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "s2s/error.h"
#include "s2s/foreign_text.h"

namespace s2s {
namespace {

/// Data that the handler reads without a lock. A slot is free while `begin` is 0. Slots are never
/// deallocated, so that a handler can iterate over them.
struct Slot {
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<const char*> path{nullptr}, shown{nullptr};
};
struct Chunk {
  std::array<Slot, 256> slots;
  std::atomic<Chunk*> next{nullptr};
};
static_assert(std::atomic<uintptr_t>::is_always_lock_free, "a signal handler must not wait");

// A signal handler can access only globals.
Chunk g_first;
std::mutex g_mutex;  // held to take or release a slot
struct sigaction g_before;

void write_stderr(const char* text) {
  const ssize_t ignored = ::write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(ignored);
}

/// Does what happened before: calls another handler, or ends the process.
void hand_on(int number, siginfo_t* facts, void* context) {
  if ((g_before.sa_flags & SA_SIGINFO) != 0) return g_before.sa_sigaction(number, facts, context);
  if (g_before.sa_handler != SIG_DFL && g_before.sa_handler != SIG_IGN) {
    return g_before.sa_handler(number);
  }
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void on_bus(int number, siginfo_t* facts, void* context) {
  end_if_mapping_was_cut(facts->si_addr);
  hand_on(number, facts, context);
}

/// Called once, with the first mapping.
void install() {
  struct sigaction action = {};
  action.sa_sigaction = on_bus;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, nullptr, &g_before);
  ::sigaction(SIGBUS, &action, nullptr);
}

/// Returns false if the file has all its bytes or cannot be checked; then a disk or a server has
/// failed.
bool is_shorter(const char* path, size_t mapped_bytes) {
  struct stat status {};
  if (path == nullptr || ::stat(path, &status) != 0) return false;
  return static_cast<size_t>(status.st_size) < mapped_bytes;
}

/// Called with the mutex held.
Slot& free_slot() {
  for (Chunk* chunk = &g_first;; chunk = chunk->next) {
    for (Slot& slot : chunk->slots) {
      if (slot.begin == 0) return slot;
    }
    if (chunk->next == nullptr) chunk->next = new Chunk;
  }
}

}  // namespace

GuardedMapping::GuardedMapping(const void* begin, size_t bytes, const std::string& path)
    : path_(path), shown_(printable_name(path)) {
  if (begin == nullptr) return;
  static std::once_flag is_installed;
  std::call_once(is_installed, install);
  const std::lock_guard lock(g_mutex);
  Slot& slot = free_slot();
  slot.path = path_.c_str();
  slot.shown = shown_.c_str();
  slot.end = reinterpret_cast<uintptr_t>(begin) + bytes;
  slot.begin = reinterpret_cast<uintptr_t>(begin);
  slot_ = &slot;
}

GuardedMapping::~GuardedMapping() {
  if (slot_ == nullptr) return;
  const std::lock_guard lock(g_mutex);
  Slot& slot = *static_cast<Slot*>(slot_);
  slot.begin = 0;
  slot.end = 0;
  slot.path = nullptr;
  slot.shown = nullptr;
}

void end_if_mapping_was_cut(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  for (const Chunk* chunk = &g_first; chunk != nullptr; chunk = chunk->next) {
    for (const Slot& slot : chunk->slots) {
      if (slot.begin == 0 || at < slot.begin || at >= slot.end) continue;
      const char* const shown = slot.shown;
      write_stderr("error: [io/file] ");
      if (shown != nullptr) write_stderr(shown);
      if (!is_shorter(slot.path, slot.end - slot.begin)) {
        write_stderr(
            ": a page of it could not be read\n"
            "  next:      check its disk or server, then run again\n");
        return;
      }
      write_stderr(
          ": it became shorter while it was read\n"
          "  expected: a file that does not change while the program runs; copy it again under "
          "another name in the same folder, and rename it\n");
      ::_exit(static_cast<int>(ExitCode::kData));
    }
  }
}

MappedFile::MappedFile(const std::string& path) {
  const RegularFile file(path);
  size_ = file.size();
  if (size_ == 0) return;
  void* const start = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (start == MAP_FAILED) file.fail(errno);
  data_ = static_cast<const std::byte*>(start);
  guard_.emplace(start, size_, path);
}

MappedFile::~MappedFile() {
  guard_.reset();
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace s2s
