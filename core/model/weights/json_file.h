#pragma once
// JSON files and texts as trees of the JSON library.

#include <nlohmann/json.hpp>
#include <string>

namespace s2s {

/// Errors: [weights/unreadable], [weights/json].
nlohmann::ordered_json read_json_file(const std::string& path);
/// The same with keys in their own order: an ordered tree looks for equal keys one by one, which
/// takes seconds where there are very many. Errors: as before.
nlohmann::json read_sorted_json_file(const std::string& path);
/// `source` names the text in messages. Errors: [weights/json].
nlohmann::ordered_json parse_json_text(const std::string& text, const std::string& source);

}  // namespace s2s
