#include "loader/source_state.h"

#include <nlohmann/json.hpp>

#include "base/foreign_json.h"
#include "loader/loader_errors.h"

namespace s2s::data {

std::string to_text(const SourceState& state) {
  nlohmann::ordered_json json;
  json["batches"] = state.batches;
  json["epoch"] = state.epoch;
  json["order"] = state.order;
  if (state.data_size > 1) json["ranks"] = state.data_size;
  if (state.from.at > 0) json["at"] = state.from.at;
  if (!state.from.state.empty()) json["from"] = state.from.state;
  if (state.restarts > 0) json["restarts"] = state.restarts;
  if (state.entropy) json["entropy"] = *state.entropy;
  if (!state.left_out.empty()) json["left_out"] = state.left_out;
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

SourceState parse_state(const std::string& text, const std::string& path) {
  SourceState state;
  try {
    const auto json = parse_foreign_json(text, kListsJson);
    state.batches = json.at("batches").get<int64_t>();
    state.epoch = json.at("epoch").get<int64_t>();
    state.order = json.at("order").get<std::string>();
    state.data_size = json.value("ranks", int64_t{1});
    state.from.at = json.value("at", int64_t{0});
    state.from.state = json.value("from", std::string());
    state.restarts = json.value("restarts", int64_t{0});
    if (json.contains("entropy")) state.entropy = json["entropy"].get<uint64_t>();
    if (json.contains("left_out")) state.left_out = json["left_out"].get<BadCuts::Listed>();
  } catch (const nlohmann::json::exception& error) {
    throw loader_errors::bad_state(path, text, error.what());
  }
  return state;
}

}  // namespace s2s::data
