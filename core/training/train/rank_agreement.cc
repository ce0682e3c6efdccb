#include "train/rank_agreement.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/foreign_json.h"

namespace s2s {
namespace {

using nlohmann::json;

bool is_alone(const Communicator* world) { return world == nullptr || world->size() == 1; }

at::TensorOptions on(const Communicator& world, at::ScalarType type) {
  return at::TensorOptions().dtype(type).device(world.device_type());
}

at::Tensor to_bytes(const Communicator& world, const std::string& text) {
  const auto size = static_cast<int64_t>(text.size());
  at::Tensor bytes = at::empty({size}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), text.data(), text.size());
  return bytes.to(world.device_type());
}

std::string to_text(const at::Tensor& bytes) {
  const at::Tensor here = bytes.to(at::kCPU).contiguous();
  return {static_cast<const char*>(here.const_data_ptr()), static_cast<size_t>(here.numel())};
}

/// One number of every rank, on every rank.
std::vector<int64_t> all_numbers(Communicator& world, int64_t value) {
  const at::Tensor own = at::full({1}, value, on(world, at::kLong));
  const at::Tensor all = at::empty({world.size()}, on(world, at::kLong));
  world.all_gather(all, own, "agreement").wait();
  const at::Tensor here = all.to(at::kCPU);
  const auto* const begin = here.const_data_ptr<int64_t>();
  return {begin, begin + world.size()};
}

std::string broadcast_text(Communicator& world, const std::string& text, int64_t root,
                           int64_t size) {
  if (size == 0) return "";
  const bool is_root = world.rank() == root;
  const at::Tensor bytes =
      is_root ? to_bytes(world, text) : at::empty({size}, on(world, at::kByte));
  world.broadcast(bytes, root, "agreement").wait();
  return to_text(bytes);
}

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
  const std::vector<int64_t> sizes = all_numbers(*world, static_cast<int64_t>(text.size()));
  if (world->rank() != 0) {
    if (!text.empty()) world->send(to_bytes(*world, text), 0, "agreement").wait();
    return {};
  }
  std::vector<std::string> all = {text};
  for (int64_t rank = 1; rank < world->size(); ++rank) {
    const int64_t size = sizes[static_cast<size_t>(rank)];
    const at::Tensor bytes = at::empty({size}, on(*world, at::kByte));
    if (size > 0) world->recv(bytes, rank, "agreement").wait();
    all.push_back(to_text(bytes));
  }
  return all;
}

std::string share_text(Communicator* world, const std::string& text) {
  if (is_alone(world)) return text;
  const std::vector<int64_t> sizes = all_numbers(*world, static_cast<int64_t>(text.size()));
  return broadcast_text(*world, text, 0, sizes[0]);
}

bool all_ranks(Communicator* world, bool value) {
  if (is_alone(world)) return value;
  const std::vector<int64_t> all = all_numbers(*world, value ? 1 : 0);
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
  const std::vector<int64_t> sizes = all_numbers(*world, static_cast<int64_t>(text.size()));
  for (int64_t rank = 0; rank < world->size(); ++rank) {
    const int64_t size = sizes[static_cast<size_t>(rank)];
    if (size > 0) throw from_json(broadcast_text(*world, text, rank, size), rank);
  }
}

}  // namespace s2s
