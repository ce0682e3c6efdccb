#include "comm/rank_texts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

namespace s2s {
namespace {

constexpr char kName[] = "agreement";

at::TensorOptions on(const Communicator& world, at::ScalarType type) {
  return at::TensorOptions().dtype(type).device(world.device_type());
}

/// num_bytes: size of the tensor. The bytes after the text are 0.
at::Tensor to_bytes(const Communicator& world, const std::string& text, int64_t num_bytes) {
  at::Tensor bytes = at::zeros({num_bytes}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), text.data(), text.size());
  return bytes.to(world.device_type());
}

std::string to_text(const at::Tensor& bytes) {
  const at::Tensor here = bytes.to(at::kCPU).contiguous();
  return {static_cast<const char*>(here.const_data_ptr()), static_cast<size_t>(here.numel())};
}

int64_t length(const std::string& text) { return static_cast<int64_t>(text.size()); }

}  // namespace

std::vector<int64_t> all_gather_numbers(Communicator& world, int64_t value) {
  const at::Tensor own = at::full({1}, value, on(world, at::kLong));
  const at::Tensor all = at::empty({world.size()}, on(world, at::kLong));
  world.all_gather(all, own, kName).wait();
  const at::Tensor here = all.to(at::kCPU);
  const auto* const begin = here.const_data_ptr<int64_t>();
  return {begin, begin + world.size()};
}

std::vector<std::string> all_gather_texts(Communicator& world, const std::string& text) {
  const std::vector<int64_t> sizes = all_gather_numbers(world, length(text));
  const int64_t widest = *std::max_element(sizes.begin(), sizes.end());
  if (widest == 0) return std::vector<std::string>(sizes.size());
  const at::Tensor all = at::empty({world.size() * widest}, on(world, at::kByte));
  world.all_gather(all, to_bytes(world, text, widest), kName).wait();
  const std::string padded = to_text(all);
  std::vector<std::string> texts;
  for (size_t rank = 0; rank < sizes.size(); ++rank) {
    texts.push_back(
        padded.substr(rank * static_cast<size_t>(widest), static_cast<size_t>(sizes[rank])));
  }
  return texts;
}

std::vector<std::string> gather_texts(Communicator& world, const std::string& text) {
  const std::vector<int64_t> sizes = all_gather_numbers(world, length(text));
  if (world.rank() != 0) {
    if (!text.empty()) world.send(to_bytes(world, text, length(text)), 0, kName).wait();
    return {};
  }
  std::vector<std::string> all = {text};
  for (int64_t rank = 1; rank < world.size(); ++rank) {
    const int64_t size = sizes[static_cast<size_t>(rank)];
    const at::Tensor bytes = at::empty({size}, on(world, at::kByte));
    if (size > 0) world.recv(bytes, rank, kName).wait();
    all.push_back(to_text(bytes));
  }
  return all;
}

std::string broadcast_text(Communicator& world, const std::string& text, int64_t root,
                           int64_t size) {
  if (size == 0) return "";
  const at::Tensor bytes =
      world.rank() == root ? to_bytes(world, text, size) : at::empty({size}, on(world, at::kByte));
  world.broadcast(bytes, root, kName).wait();
  return to_text(bytes);
}

}  // namespace s2s
