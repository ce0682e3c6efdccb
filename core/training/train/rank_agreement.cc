#include "train/rank_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/foreign_json.h"
#include "comm/rank_texts.h"

namespace s2s {
namespace {

using nlohmann::json;

bool is_alone(const Communicator* world) { return world == nullptr || world->size() == 1; }

std::string to_json(const Error& error) {
  return json{{"code", static_cast<int>(error.exit_code())},
              {"id", error.id()},
              {"message", error.message()}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

Error from_json(const std::string& text, int64_t rank) {
  const json error = parse_foreign_json(text);
  return {static_cast<ExitCode>(error.at("code").get<int>()), error.at("id").get<std::string>(),
          fmt::format("rank {}: {}", rank, error.at("message").get<std::string>())};
}

}  // namespace

std::vector<std::string> gather_texts(Communicator* world, const std::string& text) {
  if (is_alone(world)) return {text};
  return gather_texts(*world, text);
}

std::string share_text(Communicator* world, const std::string& text) {
  if (is_alone(world)) return text;
  const std::vector<int64_t> sizes = all_gather_numbers(*world, static_cast<int64_t>(text.size()));
  return broadcast_text(*world, text, 0, sizes[0]);
}

bool all_ranks(Communicator* world, bool value) {
  if (is_alone(world)) return value;
  const std::vector<int64_t> all = all_gather_numbers(*world, value ? 1 : 0);
  return std::all_of(all.begin(), all.end(), [](int64_t one) { return one == 1; });
}

void agree(Communicator* world, const std::function<void()>& action,
           const std::function<Error(const std::exception&)>& describe) {
  std::optional<Error> trouble;
  try {
    action();
  } catch (const std::exception& error) {
    trouble = describe(error);
  }
  if (is_alone(world)) {
    if (trouble) throw *trouble;
    return;
  }
  const std::string text = trouble ? to_json(*trouble) : "";
  const std::vector<int64_t> sizes = all_gather_numbers(*world, static_cast<int64_t>(text.size()));
  for (int64_t rank = 0; rank < world->size(); ++rank) {
    const int64_t size = sizes[static_cast<size_t>(rank)];
    if (size > 0) throw from_json(broadcast_text(*world, text, rank, size), rank);
  }
}

}  // namespace s2s
