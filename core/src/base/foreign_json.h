#pragma once
// JSON that somebody else wrote, through a parser that calls itself for each level.

#include <nlohmann/json.hpp>
#include <string_view>

#include "s2s/foreign_text.h"

namespace s2s {

/// What Json::parse gives. Errors: nlohmann::json::parse_error, also for more than kJsonDepth
/// levels, which would overflow the stack here or where the value is copied, printed or destroyed.
template <class Json = nlohmann::json>
Json parse_foreign_json(std::string_view text) {
  if (!is_json_depth_within(text)) {
    throw nlohmann::json::parse_error::create(
        101, size_t{0}, "it is nested deeper than " + std::to_string(kJsonDepth) + " levels",
        nullptr);
  }
  return Json::parse(text.begin(), text.end());
}

/// The same; a discarded value in place of an error.
template <class Json = nlohmann::json>
Json try_parse_foreign_json(std::string_view text) {
  if (!is_json_depth_within(text)) return Json(nlohmann::json::value_t::discarded);
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

}  // namespace s2s
