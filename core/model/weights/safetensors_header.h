#pragma once
// The JSON header of a safetensors file: dtype names, parsing with all checks, writing.

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

/// Returns the format's name of a dtype ("BF16"), or LibTorch's name if the format has none.
std::string type_text(at::ScalarType type);
/// Returns the dtype of a name, or nothing when the format does not have it.
std::optional<at::ScalarType> type_of_text(const std::string& text);

/// Maximum length of a header in bytes.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

/// json: the text of the header. data_bytes: size of the data after it. `path` is for messages.
/// Errors: [weights/format], [weights/dtype].
SafetensorsHeader parse_safetensors_header(const std::string& path, std::string_view json,
                                           uint64_t data_bytes);

/// Returns the header's text, padded with blanks to a multiple of 8 bytes.
/// Errors: [weights/dtype] for dtypes that the format does not have.
std::string format_safetensors_header(const std::string& path, const SafetensorsHeader& header);

}  // namespace s2s
