#pragma once

#include <cstdint>
#include <memory>

#include "s2s/kinds/communicator.h"

namespace s2s {

/// The first of `size` ranks that are not there: for plans, which ask strategies how they would
/// share so many out. It has subgroups; a collective of it is a mistake of the program.
std::unique_ptr<Communicator> make_simulated_ranks(int64_t size);

}  // namespace s2s
