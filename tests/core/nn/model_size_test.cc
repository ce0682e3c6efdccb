// Models of impossible sizes are refused as meta models.

#include "nn/model_size.h"

#include <ATen/Functions.h>
#include <doctest/doctest.h>

#include <limits>
#include <memory>

#include "s2s/error.h"
#include "s2s/nn/block.h"
#include "s2s/nn/initial_values.h"

namespace {

struct Sized : s2s::Block {
  void add(std::vector<int64_t> sizes) {
    tensors.push_back(std::make_unique<at::Tensor>());
    register_parameter("w" + std::to_string(tensors.size()), *tensors.back(), std::move(sizes), {});
  }
  void add_child(s2s::Block& child) { register_block("c", child); }
  std::vector<std::unique_ptr<at::Tensor>> tensors;
};

template <class Body>
std::string size_error_of(const Body& body) {
  try {
    body();
    return "";
  } catch (const s2s::Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a parameter whose sizes overflow or pass 2^42 elements is refused") {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  Sized block;
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
           {kMost, kMost}, {int64_t{1} << 42, 2}, {int64_t{1} << 32, int64_t{1} << 32}, {-1}}) {
    const std::string message = size_error_of([&] { block.add(sizes); });
    CHECK(message.find("[model/size]") != std::string::npos);
    CHECK(message.find("the parameter 'w") != std::string::npos);
  }
  CHECK(size_error_of([&] { block.add({int64_t{1} << 42}); }).empty());
  CHECK(size_error_of([&] { block.add({0, kMost}); }).empty());
}

TEST_CASE("all elements and parts are counted, and those of a model that is gone are not") {
  for (int round = 0; round < 3; ++round) {
    Sized block;
    std::string message;
    for (int i = 0; i < 257 && message.empty(); ++i) {
      message = size_error_of([&] { block.add({int64_t{1} << 42}); });
    }
    CHECK(block.tensors.size() == 257);  // 2^50 / 2^42, and the one that was refused
    CHECK(message.find("more than 1125899906842624 elements") != std::string::npos);
  }
  Sized child;
  for (int round = 0; round < 2; ++round) {
    auto parent = std::make_unique<Sized>();
    std::string message;
    int64_t count = 0;
    for (; message.empty() && count <= 1'000'000; ++count) {
      message = size_error_of([&] { parent->add_child(child); });
    }
    CHECK(count <= 1'000'001);  // and the one that was refused
    CHECK(count > 990'000);
    CHECK(message.find("more than 1000000 blocks") != std::string::npos);
  }
}

TEST_CASE("parameters that the machine cannot hold are refused before any has memory") {
  Sized block;
  for (int i = 0; i < 200; ++i) block.add({int64_t{1} << 40});
  const std::string message = size_error_of([&] { block.materialize(at::kCPU, at::kFloat, 1); });
  CHECK(message.find("[run/memory] out of memory: the model's parameters need") !=
        std::string::npos);
}
