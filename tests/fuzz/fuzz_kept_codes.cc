// Any bytes as a manifest's line with kept codes (s2s-run data encode), and behind it the file that
// it names: refused with a message, or the codes are [K, T] integers.

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "cuts/cut_files.h"
#include "duplex/kept_codes.h"
#include "fuzz/input_file.h"
#include "s2s/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const s2s::test::InputFile stored("codes.npy");
  const uint8_t* const end = std::find(data, data + size, '\n');
  const uint8_t* const rest = std::min(end + 1, data + size);
  stored.write(rest, static_cast<size_t>(data + size - rest));
  std::string line(data, end);
  const std::string folder = "\"@\"";  // where the line says "@", the file's folder
  if (const size_t at = line.find(folder); at != std::string::npos) {
    line.replace(at, folder.size(), "\"" + stored.folder() + "\"");
  }
  try {
    const s2s::Cut cut = s2s::parse_cut(line, "fuzz", 1);
    const s2s::data::KeptCodes kept = s2s::data::load_kept_codes(cut, "codes");
    if (kept.codes_KT.dim() != 2 || kept.codes_KT.scalar_type() != at::kLong) __builtin_trap();
  } catch (const s2s::Error&) {  // what a user would read
  }
  return 0;
}
