// Any bytes as a Shar tar: members, pairs, and what a pointer into it reads.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "files/tar_index.h"
#include "s2s/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace s2s::files;
  const auto bytes = std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
  const auto file = std::make_shared<const MemoryFile>("fuzz.tar", bytes);
  try {
    const TarIndex index(file);
    int64_t end = 0;
    for (const TarMember& member : index.members()) {
      if (member.header < end || member.begin < member.header) __builtin_trap();
      if (index.data(member).size() != static_cast<size_t>(member.num_bytes)) __builtin_trap();
      if (index.find(member.name) == nullptr) __builtin_trap();
      end = member.end();
      tar_stem(member.name);
    }
  } catch (const s2s::Error&) {  // what a user would read
  }
  return 0;
}
