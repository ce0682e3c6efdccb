#include "common/places.h"

namespace s2s::test {

std::string source_dir() { return S2S_SOURCE_DIR; }

std::string binary_dir() { return S2S_BINARY_DIR; }

}  // namespace s2s::test
