// Any bytes as a .nemo archive: its configuration, a small file in it, and its weights are read, or
// refused with a message.

#include <cstddef>
#include <cstdint>

#include "fuzz/input_file.h"
#include "s2s/error.h"
#include "s2s/nemo_archive.h"
#include "s2s/nn/weights.h"

namespace {

template <class Read>
void refused_or_read(Read read) {
  try {
    read();
  } catch (const s2s::Error&) {  // what a user would read
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const s2s::test::InputFile input("input.nemo");
  const std::string& path = input.write(data, size);
  if (!s2s::is_nemo_archive(path)) __builtin_trap();
  constexpr uint64_t kMost = 1000;
  refused_or_read([&] { s2s::read_nemo_config(path); });
  refused_or_read([&] {
    if (s2s::read_nemo_file(path, "tokenizer.model", kMost).size() > kMost) __builtin_trap();
  });
  refused_or_read([&] { s2s::read_weights(path); });
  return 0;
}
