#include "common/device.h"

#include <doctest/doctest.h>

// The first file of its program, so that no other test has opened the device.
TEST_CASE("the device of S2S_DEVICE_LIBRARY is open before the first test") {
  const bool is_wanted = std::getenv("S2S_DEVICE_LIBRARY") != nullptr;
  CHECK(s2s::opened_accelerator().has_value() == is_wanted);
}
