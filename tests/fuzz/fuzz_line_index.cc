// Any bytes as an `.idx` of a file that follows them; the first byte says how long the file is.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "files/line_file.h"
#include "s2s/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace s2s::files;
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t file_size = std::min<size_t>(data[0], input.size());
  const auto content = std::make_shared<const std::string>(input.substr(0, file_size));
  const auto index = std::make_shared<const std::string>(input.substr(file_size));
  if (index_problem(*index, static_cast<int64_t>(file_size), IndexEnd::kExact)) return 0;
  const auto lines = std::make_shared<const LineFile>(
      std::make_shared<const MemoryFile>("fuzz.jsonl", content), OffsetIndex(index, *index));
  try {
    for (int64_t row = 0; row < lines->size(); ++row) lines->line(row);
  } catch (const s2s::Error&) {  // what a user would read
  }
  try {
    LineCursor cursor(lines);
    std::string line;
    while (cursor.next(line)) {
    }
    if (cursor.row() != lines->size()) __builtin_trap();
  } catch (const s2s::Error&) {
  }
  return 0;
}
