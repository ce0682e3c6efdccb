#pragma once
// Connects groups of ranks through another library.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "s2s/kinds/communicator.h"

namespace s2s {

/// Calls `connect`, which connects rank `rank` of the run to the group `name`.
/// Errors: an s2s::Error and an assertion are rethrown; [run/threads] when a thread could not be
/// started; otherwise [comm/timeout], [comm/lost] or [comm/failed], by the text of the exception.
std::unique_ptr<Communicator> connect_group(
    const std::string& name, int64_t rank,
    const std::function<std::unique_ptr<Communicator>()>& connect);

}  // namespace s2s
