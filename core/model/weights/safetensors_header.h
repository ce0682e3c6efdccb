#pragma once
// The JSON header of a safetensors file: element types, parsing with every rule checked, writing.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "weights/safetensors.h"

namespace s2s {

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::map<std::string, SafetensorsEntry> entries;
};

/// The format's name of an element type ("BF16"), or LibTorch's where it has none.
std::string type_text(at::ScalarType type);
/// The reverse; nothing for what the format does not have.
std::optional<at::ScalarType> type_of_text(const std::string& text);

/// Longest header that a reader accepts, in bytes.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

/// json: the header's text; data_bytes: size of what follows it. `path` is for messages.
/// Errors: [weights/format], [weights/dtype].
SafetensorsHeader parse_safetensors_header(const std::string& path, std::string_view json,
                                           uint64_t data_bytes);

/// The header's text, padded with blanks to a multiple of 8 bytes.
/// Errors: [weights/dtype] for element types that the format does not have.
std::string format_safetensors_header(const std::string& path, const SafetensorsHeader& header);

}  // namespace s2s
