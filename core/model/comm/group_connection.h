#pragma once
// Groups of ranks that another library connects.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "s2s/kinds/communicator.h"

namespace s2s {

/// Calls `connect`, which connects this process, rank `rank` of the run, with the group `name`.
/// Errors: an s2s::Error and an assertion as they are; [run/threads] where a thread did not start;
/// else [comm/timeout], [comm/lost] or [comm/failed], by the text of what `connect` throws.
std::unique_ptr<Communicator> connect_group(
    const std::string& name, int64_t rank,
    const std::function<std::unique_ptr<Communicator>()>& connect);

}  // namespace s2s
