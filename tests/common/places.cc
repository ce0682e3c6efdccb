#include "common/places.h"

#include <cstdlib>

namespace s2s::test {
namespace {

/// A machine to which the tests were copied has them elsewhere (tests/gpu/run.sh).
std::string place(const char* variable, const char* built_at) {
  const char* const moved = std::getenv(variable);
  return moved != nullptr && *moved != '\0' ? moved : built_at;
}

}  // namespace

std::string source_dir() { return place("S2S_TEST_SOURCE_DIR", S2S_SOURCE_DIR); }

std::string binary_dir() { return place("S2S_TEST_BINARY_DIR", S2S_BINARY_DIR); }

}  // namespace s2s::test
