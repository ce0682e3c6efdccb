#pragma once
// JSON that somebody else wrote, through a parser that calls itself for each level.

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <type_traits>

#include "s2s/foreign_text.h"

namespace s2s {

/// An object that keeps the order of its members compares each new name with all before. All
/// objects of a text may take as many comparisons as one object of this many members.
inline constexpr size_t kOrderedMembers = 10000;

/// True when the objects of a JSON text take more comparisons than one of `max_members` members.
bool has_wide_objects(std::string_view text, size_t max_members = kOrderedMembers);

/// Why a text is not parsed whatever it says: its parser or its value would run out of stack (here
/// or where the value is copied, printed or destroyed) or out of time.
template <class Json>
std::optional<std::string> json_refusal(std::string_view text) {
  if (!is_json_depth_within(text)) {
    return "it is nested deeper than " + std::to_string(kJsonDepth) + " levels";
  }
  if (std::is_same_v<Json, nlohmann::ordered_json> && has_wide_objects(text)) {
    return "its objects have more than " + std::to_string(kOrderedMembers) + " members";
  }
  return std::nullopt;
}

/// What Json::parse gives. Errors: nlohmann::json::parse_error, also for more than kJsonDepth
/// levels and, of an ordered_json, for has_wide_objects.
template <class Json = nlohmann::json>
Json parse_foreign_json(std::string_view text) {
  if (const auto refusal = json_refusal<Json>(text)) {
    throw nlohmann::json::parse_error::create(101, size_t{0}, *refusal, nullptr);
  }
  return Json::parse(text.begin(), text.end());
}

/// The same; a discarded value in place of an error.
template <class Json = nlohmann::json>
Json try_parse_foreign_json(std::string_view text) {
  if (json_refusal<Json>(text)) return Json(nlohmann::json::value_t::discarded);
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

}  // namespace s2s
