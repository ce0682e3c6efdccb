#include "base/warnings.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

TEST_CASE("a warning is passed on once, and held back until somebody listens") {
  s2s::Warnings warnings;
  warnings.add("first");
  warnings.add("second");
  warnings.add("first");
  std::vector<std::string> received;
  warnings.send_to([&received](const std::string& message) { received.push_back(message); });
  CHECK(received == std::vector<std::string>{"first", "second"});
  warnings.add("second");
  warnings.add("third");
  CHECK(received == std::vector<std::string>{"first", "second", "third"});
  warnings.send_to(nullptr);
  warnings.add("fourth");
  CHECK(received.size() == 3);
}
