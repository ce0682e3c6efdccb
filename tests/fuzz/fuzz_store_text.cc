// Any bytes as what a stranger wrote into the store of a run for the ranks that wait for rank 0:
// refused with a message, or taken as what rank 0 said.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <vector>

#include "parallel/first_rank.h"
#include "s2s/communicator.h"
#include "s2s/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  c10d::HashStore store;
  store.set("first/0", std::vector<uint8_t>(data, data + size));
  s2s::ProcessPlace place;
  place.rank = 1;
  place.size = 2;
  place.store = &store;
  place.timeout = std::chrono::milliseconds(100);
  try {
    s2s::FirstRank(place).run("fuzz", [] { return std::string(); });
  } catch (const s2s::Error&) {  // what a user would read
  }
  return 0;
}
