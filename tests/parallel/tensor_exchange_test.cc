// Exchanges on a tensor axis: their values, and their gradients against one rank's.

#include "engine/tensor_exchange.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <doctest/doctest.h>

#include "common/collective_log.h"
#include "engine/tensor_placement.h"
#include "parallel/thread_ranks.h"

using namespace s2s;
using namespace s2s::test;

namespace {

constexpr int64_t kBatch = 2;
constexpr int64_t kWidth = 3;

at::Tensor elements(int64_t seed, at::IntArrayRef sizes) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<uint64_t>(seed));
  return at::empty(sizes).normal_(0, 1, generator);
}

/// A region that ranks share: each multiplies with weights of its own, and results are added up.
struct Region {
  at::Tensor x, seen;  // the same on all ranks
  at::Tensor weight(int64_t rank) const { return elements(100 + rank, {kWidth}); }
  explicit Region(int64_t length)
      : x(elements(1, {kBatch, length, kWidth}).set_requires_grad(true)),
        seen(elements(2, {kBatch, length, kWidth})) {}
  /// sum of `seen` times y: the gradient of y is `seen`.
  void backward(const at::Tensor& y) const { (y * seen).sum().backward(); }
};

struct Result {
  at::Tensor y, gradient;
};

Result alone(int64_t size, int64_t length) {
  const Region region(length);
  at::Tensor weights = at::zeros({kWidth});
  for (int64_t rank = 0; rank < size; ++rank) weights += region.weight(rank);
  const at::Tensor y = region.x * weights;
  region.backward(y);
  return {y.detach(), region.x.grad()};
}

Result shared(Communicator& world, int64_t length, bool split_positions) {
  const Region region(length);
  const auto go = [&](const at::Tensor& x, const ExchangePair& pair, const char* name) {
    return exchange(x, pair, world, length, name);
  };
  at::Tensor x = region.x;
  if (split_positions) {
    x = go(x, kSlicePositions, "slice");
    CHECK(x.size(1) == positions_per_rank(length, world.size()));
  }
  x = go(x, split_positions ? kGatherIntoSplit : kEnterSplit, "enter");
  at::Tensor y = x * region.weight(world.rank());
  y = go(y, split_positions ? kScatterFromSplit : kLeaveSplit, "leave");
  if (split_positions) y = go(y, kGatherPositions, "gather");
  region.backward(y);
  return {y.detach(), region.x.grad()};
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() ? (a - b).abs().max().item<double>() : 1e9;
}

}  // namespace

TEST_CASE(
    "a region that ranks share gives one rank's values and gradients, positions split or not") {
  for (const int64_t size : {2, 3, 4}) {
    for (const int64_t length : {1, 5, 12}) {
      const Result expected = alone(size, length);
      for (const bool split : {false, true}) {
        std::vector<double> worst(static_cast<size_t>(size), 1);
        const auto errors = run_thread_ranks(size, [&](Communicator& world) {
          const Result result = shared(world, length, split);
          worst[static_cast<size_t>(world.rank())] = std::max(
              difference(result.y, expected.y), difference(result.gradient, expected.gradient));
        });
        CAPTURE(size);
        CAPTURE(length);
        CAPTURE(split);
        CHECK(errors == std::vector<std::string>(static_cast<size_t>(size)));
        for (const double here : worst) CHECK(here < 1e-5);
      }
    }
  }
}

TEST_CASE("exchanges are named, and what was padded is what is sent") {
  std::vector<CollectiveLog> logs(2);
  const auto errors = run_thread_ranks(2, [&](Communicator& world) {
    world.set_observer(&logs[static_cast<size_t>(world.rank())]);
    shared(world, 5, true);
  });
  CHECK(errors == std::vector<std::string>(2));
  // 6 of 5 positions, 2 sequences of 3 elements of 4 bytes.
  CHECK(logs[0].lines() == std::vector<std::string>{"world 0 all_gather 144 Float 'enter'",
                                                    "world 1 reduce_scatter sum 144 Float 'leave'",
                                                    "world 2 all_gather 144 Float 'gather'",
                                                    "world 3 all_gather 144 Float 'leave backward'",
                                                    "world 4 reduce_scatter sum 144 Float "
                                                    "'enter backward'",
                                                    "world 5 all_gather 144 Float "
                                                    "'slice backward'"});
  CHECK(logs[0].lines() == logs[1].lines());
}

TEST_CASE("parts of a dim are cut as their spans say, and cover it once") {
  const std::vector<int64_t> sizes = {10, 6};
  const at::Tensor whole = at::arange(60).view({10, 6});
  for (const auto& [dim, groups, parts] :
       {std::tuple{0, 1, 4}, {0, 2, 4}, {0, 5, 4}, {1, 1, 3}, {-1, 1, 1}}) {
    CAPTURE(dim);
    CAPTURE(groups);
    std::vector<int64_t> seen(60);
    for (int64_t part = 0; part < parts; ++part) {
      const DimShard here{dim, groups, part, parts};
      const at::Tensor own = here.cut(whole).flatten();
      int64_t at = 0;
      for (const TensorSpan& span : here.spans(sizes)) {
        for (int64_t i = 0; i < span.count; ++i, ++at) {
          CHECK(own[at].item<int64_t>() == span.begin + i);
          ++seen[static_cast<size_t>(span.begin + i)];
        }
      }
      CHECK(at == own.numel());
    }
    CHECK(seen == std::vector<int64_t>(60, 1));
  }
}
