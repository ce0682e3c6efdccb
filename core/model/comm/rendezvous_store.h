#pragma once
// The store of a run: rank 0 listens where it was told, the others connect with the run's token; or
// the launcher listens (torchrun).

#include <chrono>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "comm/launch_environment.h"

namespace s2s {

/// Errors: [comm/port-busy] on rank 0, [comm/unreachable] when nobody answers within `timeout`.
c10::intrusive_ptr<c10d::Store> open_store(const LaunchPlace& place,
                                           std::chrono::milliseconds timeout);

/// c10's text without the stack that it carries.
std::string reason_of(const std::exception& error);

}  // namespace s2s
