// Initial values are drawn on all threads.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <doctest/doctest.h>

#include <ctime>
#include <deque>
#include <string>

#include "s2s/nn/layers.h"

namespace {

/// 24 layers with a million parameters each, and a small one.
struct ManyLayers : s2s::Block {
  ManyLayers() {
    for (int i = 0; i < 24; ++i) add(layers.emplace_back(1024, 1024, /*bias=*/true), i);
    add(layers.emplace_back(3, 5, /*bias=*/true), 24);
  }
  void add(s2s::Linear& layer, int number) {
    register_block("layer" + std::to_string(number), layer);
  }
  std::deque<s2s::Linear> layers;
};

double processor_s(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Materializes on so many threads. Returns the processor time of the other threads as a share of
/// the process's.
double share_of_others(ManyLayers& model, int threads, at::ScalarType type) {
  const int before = at::get_num_threads();
  at::set_num_threads(threads);
  const double own_s = processor_s(CLOCK_THREAD_CPUTIME_ID);
  const double all_s = processor_s(CLOCK_PROCESS_CPUTIME_ID);
  model.materialize(at::kCPU, type, 3);
  const double own = processor_s(CLOCK_THREAD_CPUTIME_ID) - own_s;
  const double all = processor_s(CLOCK_PROCESS_CPUTIME_ID) - all_s;
  at::set_num_threads(before);
  return (all - own) / all;
}

}  // namespace

TEST_CASE("initial values are drawn on all threads, and are the same on one") {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    CAPTURE(type);
    ManyLayers one, three;
    CHECK(share_of_others(one, 1, type) < 0.1);
    CHECK(share_of_others(three, 3, type) > 0.2);  // 0.67 if each gets a processor
    const auto a = one.named_parameters(), b = three.named_parameters();
    REQUIRE(a.size() == 50);
    for (size_t i = 0; i < a.size(); ++i) {
      CHECK_MESSAGE(at::equal(*a[i].tensor, *b[i].tensor), a[i].name);
    }
  }
}
