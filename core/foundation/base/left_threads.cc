#include "base/left_threads.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <iostream>

namespace s2s {
namespace {

std::atomic<bool> g_are_left{false};

}  // namespace

void leave_behind(std::thread thread) {
  thread.detach();
  g_are_left = true;
}

void end_process_if_threads_are_left(int exit_code) {
  if (!g_are_left) return;
  std::cout.flush();
  std::fflush(nullptr);
  ::_exit(exit_code);
}

}  // namespace s2s
