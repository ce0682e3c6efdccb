// What goes from the device to the host: staging, files, checks and offloaded sums.
#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "base/pinned_blocks.h"
#include "checkpoint/checkpoint_shards.h"
#include "common/temporary_folder.h"
#include "device/test_device.h"
#include "engine/cpu_offload.h"
#include "weights/device_chunks.h"
#include "weights/finite.h"
#include "weights/safetensors.h"

using namespace s2s;
using namespace s2s::test;

namespace {

at::Tensor numbers(int64_t count) { return at::arange(count, at::kFloat).to(test_device()); }

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("pinned memory comes in blocks of a power of two, and small pieces fill what is left") {
  test_device();
  constexpr int64_t kKilo = 1024;
  PinnedBlocks blocks(/*is_pinned=*/true, /*block_bytes=*/512 * kKilo);
  const at::Tensor large = blocks.take(600 * kKilo + 1, 900 * kKilo);
  CHECK(large.is_pinned());
  CHECK(large.numel() == 600 * kKilo + 1);
  CHECK(blocks.bytes() == 1024 * kKilo);
  const at::Tensor next = blocks.take(300 * kKilo, 300 * kKilo);
  CHECK(blocks.bytes() == 1024 * kKilo);
  CHECK(reinterpret_cast<uintptr_t>(next.const_data_ptr()) % 64 == 0);
  const auto* const end = static_cast<const char*>(large.const_data_ptr()) + large.numel();
  CHECK(static_cast<const char*>(next.const_data_ptr()) >= end);
  blocks.take(200 * kKilo, 2000 * kKilo);
  CHECK(blocks.bytes() == (1024 + 512) * kKilo);  // no block is larger without need
  blocks.reuse();
  CHECK(blocks.take(5, 5).const_data_ptr() == large.const_data_ptr());
  CHECK(blocks.bytes() == (1024 + 512) * kKilo);
}

TEST_CASE("a staged checkpoint is in pinned memory when staging returns") {
  RankFile file{"model", {}, {}};
  file.tensors["a"] = numbers(5);
  file.tensors["b"] = numbers(1000).view({10, 100});
  file.tensors["c"] = at::full({}, 3, at::kLong);
  file.tensors["d"] = numbers(0);
  const TensorMap before = file.tensors;
  std::vector<RankFile> files = {file};
  StagingBuffer buffer;
  buffer.stage(files);
  before.at("b").zero_();
  CHECK(buffer.bytes() == 8192);
  for (const auto& [name, tensor] : files[0].tensors) {
    CAPTURE(name);
    CHECK(tensor.is_pinned());
    CHECK(tensor.sizes() == before.at(name).sizes());
  }
  CHECK(files[0].tensors.at("a").equal(at::arange(5, at::kFloat)));
  CHECK(files[0].tensors.at("b").equal(at::arange(1000, at::kFloat).view({10, 100})));
  CHECK(files[0].tensors.at("c").item<int64_t>() == 3);
}

TEST_CASE("tensors of a device are read in their order, in chunks, as another dtype, too") {
  std::string seen;
  std::vector<size_t> sizes;
  DeviceChunks chunks(
      [&](const void* data, size_t bytes) {
        seen.append(static_cast<const char*>(data), bytes);
        sizes.push_back(bytes);
      },
      /*chunk_bytes=*/64);
  const at::Tensor turned = numbers(40).view({5, 8}).t();
  const std::vector<at::Tensor> tensors = {numbers(3), turned, numbers(0), at::ones({4}),
                                           numbers(33)};
  std::string expected;
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const at::Tensor& tensor : tensors) {
      chunks.push(tensor, type);
      const at::Tensor here = tensor.cpu().to(type).contiguous();
      expected.append(static_cast<const char*>(here.const_data_ptr()), here.nbytes());
    }
  }
  chunks.finish();
  CHECK(seen == expected);
  CHECK(*std::max_element(sizes.begin(), sizes.end()) == 64);
}

TEST_CASE("a file of tensors of a device has the bytes of one from the CPU") {
  const TemporaryFolder folder;
  const TensorMap here = {{"a", at::randn({3, 5})}, {"b", at::arange(7)}, {"c", at::randn({2})}};
  TensorMap there;
  for (const auto& [name, tensor] : here) there[name] = tensor.to(test_device());
  write_safetensors(folder / "here", here, {}, at::kBFloat16);
  write_safetensors(folder / "there", there, {}, at::kBFloat16);
  CHECK(!bytes_of(folder / "here").empty());
  CHECK(bytes_of(folder / "here") == bytes_of(folder / "there"));
}

TEST_CASE("many tensors are checked for finite elements with one wait") {
  std::vector<at::Tensor> tensors = {numbers(4),
                                     numbers(1000),
                                     numbers(6).to(at::kBFloat16),
                                     numbers(0),
                                     numbers(3).to(at::kLong),
                                     at::ones({2})};
  const int64_t before = host_waits();
  CHECK(all_finite(tensors));
  CHECK(host_waits() - before == 1);
  for (const double bad : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    CAPTURE(bad);
    for (const size_t place : {size_t{1}, size_t{2}, size_t{5}}) {
      std::vector<at::Tensor> some = tensors;
      some[place] = some[place].clone();
      some[place].narrow(0, 1, 1).fill_(bad);
      CHECK_FALSE(all_finite(some));
      CHECK(find_not_finite(some[place]).value().index == std::vector<int64_t>{1});
    }
  }
}

TEST_CASE("sums of the device arrive in host memory in their order, whatever their dtype") {
  CpuOffload copies(test_device(), /*piece_bytes=*/64);
  const at::Tensor total = copies.empty(1000, at::kFloat);
  const at::Tensor other = copies.empty(40, at::kBFloat16);
  CHECK(total.is_pinned());
  for (int step = 1; step <= 3; ++step) {
    copies.bring(numbers(1000).mul(step), total, /*is_first=*/true);
    copies.bring(numbers(1000).to(at::kBFloat16), total, /*is_first=*/false);
    copies.bring(numbers(40), other, /*is_first=*/true);
    copies.bring(numbers(1000), total, /*is_first=*/false);
    copies.settle();
    const at::Tensor once = at::arange(1000, at::kFloat);
    CHECK(total.equal(once * step + once.to(at::kBFloat16).to(at::kFloat) + once));
    CHECK(other.equal(at::arange(40, at::kFloat).to(at::kBFloat16)));
  }
}

TEST_CASE("an error of the thread that adds sums comes at the next call") {
  CpuOffload copies(test_device());
  const at::Tensor total = copies.empty(3, at::kBool);
  copies.bring(numbers(3), total, /*is_first=*/false);
  CHECK_THROWS_WITH_AS(copies.settle(), doctest::Contains("can't be cast"), c10::Error);
  CHECK_THROWS_AS(copies.bring(numbers(3), total, /*is_first=*/true), c10::Error);
}

TEST_CASE("pieces of offloaded memory share blocks") {
  CpuOffload copies(test_device());
  const at::Tensor first = copies.empty(600, at::kFloat);   // 2400 of 4096 bytes
  const at::Tensor second = copies.empty(300, at::kFloat);  // 1200 bytes behind them
  CHECK(second.storage().data() == first.storage().data());
  first.fill_(1);
  second.fill_(2);
  CHECK(first.eq(1).all().item<bool>());
}
