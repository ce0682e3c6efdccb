// What a GPU holds of a model whose parameters live in the host's memory.

#include <doctest/doctest.h>

#include "parallel/gpus.h"
#include "parallel/offloaded_memory.h"

using namespace s2s;
using namespace s2s::test;

TEST_CASE("a GPU holds a few units of a model that lives in the host's memory") {
  if (num_gpus() == 0) {
    MESSAGE("skipped: no GPU here");
    return;
  }
  check_offloaded(memory_of_offloaded({at::kCUDA, 0}));
}
