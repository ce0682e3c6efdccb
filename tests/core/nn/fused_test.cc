#include "nn/fused.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/parallel_rows.h"
#include "common/device.h"

using s2s::test::device;

namespace {

using Function = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

/// Largest difference, as a share of the largest value where that is above 1.
double largest(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor wide = b.to(at::kDouble);
  const double scale = std::max(1.0, wide.abs().max().item<double>());
  return (a.to(at::kDouble) - wide).abs().max().item<double>() / scale;
}

/// Largest difference between two functions, over the output and every input's gradient.
double difference(const Function& ours, const Function& plain, std::vector<at::Tensor> inputs,
                  at::ScalarType type) {
  std::vector<at::Tensor> a;
  std::vector<at::Tensor> b;
  for (const at::Tensor& input : inputs) {
    a.push_back(input.to(type).detach().clone().set_requires_grad(true));
    b.push_back(input.to(type).detach().clone().set_requires_grad(true));
  }
  const at::Tensor y = ours(a);
  const at::Tensor z = plain(b);
  CHECK((y.scalar_type() == z.scalar_type()));
  const at::Tensor direction = at::randn(y.sizes(), device()).to(type);
  (y * direction).sum().backward();
  (z * direction).sum().backward();
  double worst = largest(y, z);
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, largest(a[i].grad(), b[i].grad()));
  return worst;
}

void check_same(const Function& ours, const Function& plain,
                const std::vector<at::Tensor>& inputs) {
  CHECK(difference(ours, plain, inputs, at::kFloat) < 2e-5);
  CHECK(difference(ours, plain, inputs, at::kBFloat16) < 0.03);
  CHECK(difference(ours, plain, inputs, at::kDouble) < 1e-12);  // falls back to the plain one
}

}  // namespace

TEST_CASE("rows are all visited once, whatever the number of threads") {
  std::vector<std::atomic<int>> visits(1000);
  s2s::parallel_rows(1000, 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
  });
  CHECK(std::all_of(visits.begin(), visits.end(), [](const auto& count) { return count == 1; }));
  s2s::parallel_rows(0, 1, [](int64_t, int64_t) { FAIL("no rows"); });
}

TEST_CASE("parallel_rows uses all threads of LibTorch") {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  s2s::parallel_rows(at::get_num_threads(), 1, [&](int64_t, int64_t) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  CHECK(threads.size() == static_cast<size_t>(at::get_num_threads()));
}

TEST_CASE("the one-pass RMS norm equals the plain one, forward and backward") {
  at::manual_seed(1);
  for (const int64_t dim : {6, 16, 512, 513}) {
    check_same([](const auto& in) { return s2s::rms_norm(in[0], in[1], 1e-5); },
               [](const auto& in) { return s2s::rms_norm_plain(in[0], in[1], 1e-5); },
               {at::randn({3, 5, dim}, device()), at::rand({dim}, device()) + 0.5});
  }
}

TEST_CASE("the one-pass RMS norm adds one to its weight if asked") {
  at::manual_seed(11);
  constexpr auto kAdded = s2s::NormWeight::kAddedToOne;
  for (const int64_t dim : {6, 16, 513}) {
    check_same([](const auto& in) { return s2s::rms_norm(in[0], in[1], 1e-5, kAdded); },
               [](const auto& in) { return s2s::rms_norm_plain(in[0], in[1], 1e-5, kAdded); },
               {at::randn({3, 5, dim}, device()), at::randn({dim}, device()) * 0.3});
  }
  const at::Tensor x = at::randn({4, 8}, device());
  const at::Tensor weight = at::randn({8}, device());
  CHECK(largest(s2s::rms_norm(x, weight, 1e-5, kAdded), s2s::rms_norm(x, weight + 1, 1e-5)) < 1e-6);
}

TEST_CASE("the one-pass GeGLU equals the plain one, also far from zero") {
  at::manual_seed(12);
  check_same([](const auto& in) { return s2s::geglu(in[0], in[1]); },
             [](const auto& in) { return s2s::geglu_plain(in[0], in[1]); },
             {at::randn({4, 9, 37}, device()) * 2, at::randn({4, 9, 37}, device())});
  const at::Tensor gate = at::linspace(-100, 100, 4001, device()).set_requires_grad(true);
  const at::Tensor ours = s2s::geglu(gate, at::ones_like(gate));
  CHECK(at::allclose(ours, at::gelu(gate, "tanh"), 2e-5, 1e-6));
  ours.sum().backward();
  CHECK(gate.grad().isfinite().all().item<bool>());
}

TEST_CASE("the one-pass SwiGLU equals the plain one, also far from zero") {
  at::manual_seed(2);
  check_same([](const auto& in) { return s2s::swiglu(in[0], in[1]); },
             [](const auto& in) { return s2s::swiglu_plain(in[0], in[1]); },
             {at::randn({4, 9, 37}, device()), at::randn({4, 9, 37}, device())});
  const at::Tensor gate = at::linspace(-200, 200, 4001, device());
  const at::Tensor ours = s2s::swiglu(gate, at::ones_like(gate));
  CHECK(at::allclose(ours, at::silu(gate), 2e-6, 1e-30));
}

namespace {

/// cos and sin [frames, dim].
std::pair<at::Tensor, at::Tensor> draw_tables(int64_t frames, int64_t dim) {
  const at::Tensor angle = at::rand({frames, dim / 2}, device()) * 6;
  return {at::cat({angle.cos(), angle.cos()}, -1), at::cat({angle.sin(), angle.sin()}, -1)};
}

/// Both results as one tensor.
at::Tensor side_by_side(const std::pair<at::Tensor, at::Tensor>& both) {
  return at::cat({both.first.flatten(2), both.second.flatten(2)}, -1);
}

}  // namespace

TEST_CASE("the one-pass rotation equals the plain one, also of strided input") {
  at::manual_seed(3);
  for (const int64_t dim : {8, 6, 64}) {
    const auto [cos, sin] = draw_tables(5, dim);
    const auto ours = [&](const at::Tensor& q, const at::Tensor& k) {
      return side_by_side(s2s::rotate_qk(q, k, cos, sin));
    };
    const auto plain = [&](const at::Tensor& q, const at::Tensor& k) {
      return side_by_side(s2s::rotate_qk_plain(q, k, cos, sin));
    };
    check_same([&](const auto& in) { return ours(in[0], in[1]); },
               [&](const auto& in) { return plain(in[0], in[1]); },
               {at::randn({2, 5, 3, dim}, device()), at::randn({2, 5, 1, dim}, device())});
    check_same([&](const auto& in) { return ours(in[0].transpose(1, 2), in[1].narrow(2, 1, 2)); },
               [&](const auto& in) { return plain(in[0].transpose(1, 2), in[1].narrow(2, 1, 2)); },
               {at::randn({2, 3, 5, dim}, device()), at::randn({2, 5, 4, dim}, device())});
  }
}

TEST_CASE("a packed product is rotated as its parts are, and leaves values alone") {
  at::manual_seed(4);
  const s2s::HeadCounts heads = {3, 1};
  for (const int64_t dim : {8, 6}) {
    const auto [cos, sin] = draw_tables(5, dim);
    const auto ours = [&](const std::vector<at::Tensor>& in) {
      // The product's memory is taken over, and a leaf's may not be.
      const auto [q, k, v] = s2s::rotate_qkv(in[0] * 1, cos, sin, heads);
      CHECK(q.sizes() == at::IntArrayRef({2, 5, 3, dim}));
      return at::cat({q.flatten(2), k.flatten(2), v.flatten(2)}, -1);
    };
    const auto plain = [&](const std::vector<at::Tensor>& in) {
      const auto parts = in[0].view({2, 5, 5, dim}).split_with_sizes({3, 1, 1}, 2);
      const auto [q, k] = s2s::rotate_qk_plain(parts[0], parts[1], cos, sin);
      return at::cat({q.flatten(2), k.flatten(2), parts[2].flatten(2)}, -1);
    };
    check_same(ours, plain, {at::randn({2, 5, 5 * dim}, device())});
  }
}

TEST_CASE("a part of a packed product that nobody uses has no gradient of its own") {
  const auto [cos, sin] = draw_tables(4, 8);
  at::Tensor x = at::randn({1, 4, 24}, device()).set_requires_grad(true);
  s2s::rotate_qkv(x * 1, cos, sin, {1, 1}).v.sum().backward();
  CHECK(x.grad().narrow(2, 0, 16).eq(0).all().item<bool>());
  CHECK(x.grad().narrow(2, 16, 8).eq(1).all().item<bool>());
}

TEST_CASE("halves of one tensor are gated as two tensors are") {
  at::manual_seed(5);
  using s2s::GateActivation;
  for (const auto activation : {GateActivation::kSilu, GateActivation::kGeluTanh}) {
    const auto plain = activation == GateActivation::kSilu ? s2s::swiglu_plain : s2s::geglu_plain;
    for (const int64_t dim : {37, 40}) {
      check_same([&](const auto& in) { return s2s::gated_halves(in[0], activation); },
                 [&](const auto& in) {
                   const auto halves = in[0].chunk(2, -1);
                   return plain(halves[0], halves[1]);
                 },
                 {at::randn({4, 9, 2 * dim}, device())});
    }
  }
}

TEST_CASE("tables have the dtype in which layers use them") {
  const bool has_kernel = device().is_cpu();  // the CPU's row kernels
  const auto type_for = [](at::ScalarType type) {
    return s2s::rotary_table_type(at::zeros({1}, s2s::test::on_device(type)));
  };
  CHECK((type_for(at::kBFloat16) == (has_kernel ? at::kFloat : at::kBFloat16)));
  CHECK((type_for(at::kFloat) == at::kFloat));
  CHECK((type_for(at::kDouble) == at::kDouble));
}
