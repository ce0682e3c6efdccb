#pragma once
// What every communicator promises. Called by all ranks of `world`; failures are doctest's.

#include <functional>

#include "s2s/kinds/communicator.h"

namespace s2s::test {

void check_communicator(Communicator& world);

/// What becomes of a limit that changes between collectives. Its own is about a second. The last
/// rank calls `stay_away` while the others wait for it for the last time; they end by an error.
void check_time_limit(Communicator& world, const std::function<void()>& stay_away);

}  // namespace s2s::test
