// What the test device holds of a model whose parameters live in the host's memory.
#include <doctest/doctest.h>

#include "device/test_device.h"
#include "parallel/offloaded_memory.h"

using namespace s2s::test;

TEST_CASE("the device holds a few units of a model that lives in the host's memory") {
  check_offloaded(memory_of_offloaded(test_device()));
}
