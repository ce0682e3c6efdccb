#pragma once
// Parses JSON files and texts.

#include <nlohmann/json.hpp>
#include <string>

namespace s2s {

/// Parses a configuration (at most 4 MiB, 200,000 values) and keeps the order of the keys. Errors:
/// [weights/unreadable], [weights/json].
nlohmann::ordered_json read_json_file(const std::string& path);
/// Parses an index of up to 64 MiB (200,000 tensors have 30 MB) into sorted keys. An ordered tree
/// detects repeated keys by linear search, which takes seconds for very many keys. Errors: as
/// read_json_file.
nlohmann::json read_sorted_json_file(const std::string& path);
/// Parses a text. `source` is its name in messages. Errors: [weights/json].
nlohmann::ordered_json parse_json_text(const std::string& text, const std::string& source);

}  // namespace s2s
