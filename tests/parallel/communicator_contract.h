#pragma once
// What every communicator promises. Called by all ranks of `world`; failures are doctest's.

#include "s2s/communicator.h"

namespace s2s::test {

void check_communicator(Communicator& world);

}  // namespace s2s::test
