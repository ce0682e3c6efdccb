#include "nn/kernels/rel_attention.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

#include "common/device.h"

using s2s::test::device;

namespace {

struct Case {
  s2s::RelAttentionInput input;
  at::Tensor upstream;
};

Case make_case(int64_t queries, int64_t keys, bool masked) {
  at::manual_seed(21);
  const auto leaf = [](std::initializer_list<int64_t> sizes) {
    return at::randn(sizes).to(device()).set_requires_grad(true);
  };
  Case c{{leaf({2, queries, 12}),
          leaf({2, keys, 12}),
          leaf({2, keys, 12}),
          leaf({queries + keys - 1, 12}),
          leaf({3, 4}),
          leaf({3, 4}),
          {}},
         at::randn({2, queries, 12}).to(device())};
  if (masked) {
    c.input.mask = (at::rand({2, 1, keys}) < 0.3).to(at::kFloat).mul_(-1e4).to(device());
  }
  return c;
}

/// The formula, one relative position at a time.
at::Tensor plain(const s2s::RelAttentionInput& in) {
  const int64_t queries = in.q_BTM.size(1), keys = in.k_BUM.size(1);
  const auto heads = [](const at::Tensor& x) { return x.unflatten(-1, {3, 4}).transpose(1, 2); };
  const at::Tensor q = in.q_BTM.unflatten(-1, {3, 4});
  const at::Tensor content =
      at::matmul((q + in.bias_u_HD).transpose(1, 2), heads(in.k_BUM).transpose(-1, -2));
  const at::Tensor qv = (q + in.bias_v_HD).transpose(1, 2);
  const at::Tensor p = in.p_PM.unflatten(-1, {3, 4});
  std::vector<at::Tensor> rows;
  for (int64_t i = 0; i < queries; ++i) {
    std::vector<at::Tensor> columns;
    for (int64_t j = 0; j < keys; ++j) {
      const int64_t distance = keys - queries + i - j;
      columns.push_back((qv.select(2, i) * p.select(0, keys - 1 - distance)).sum(-1));
    }
    rows.push_back(at::stack(columns, -1));
  }
  at::Tensor scores = (content + at::stack(rows, 2)) / 2.0;
  if (in.mask.defined()) scores = scores + in.mask.unsqueeze(1);
  const at::Tensor y = at::matmul(at::softmax(scores, -1), heads(in.v_BUM));
  return y.transpose(1, 2).flatten(2);
}

/// The gradients of q, k, v, the positions and the biases.
std::vector<at::Tensor> gradients(const s2s::RelAttentionInput& in) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& x : {in.q_BTM, in.k_BUM, in.v_BUM, in.p_PM, in.bias_u_HD, in.bias_v_HD}) {
    all.push_back(x.grad());
  }
  return all;
}

}  // namespace

TEST_CASE("relative attention equals its formula, forward and backward") {
  for (const auto& [queries, keys, masked] : {std::tuple<int64_t, int64_t, bool>{7, 7, false},
                                              {5, 9, true},
                                              {1, 1, false},
                                              {1, 6, true}}) {
    CAPTURE(queries);
    CAPTURE(keys);
    const Case fused = make_case(queries, keys, masked), twin = make_case(queries, keys, masked);
    const at::Tensor y = s2s::rel_attention(fused.input), expected = plain(twin.input);
    CHECK((y - expected).abs().max().item<double>() < 1e-5);
    y.backward(fused.upstream);
    expected.backward(twin.upstream);
    const auto ours = gradients(fused.input), plains = gradients(twin.input);
    for (size_t i = 0; i < ours.size(); ++i) {
      CAPTURE(i);
      CHECK((ours[i] - plains[i]).abs().max().item<double>() < 2e-5);
    }
  }
}

TEST_CASE("columns that pad the positions change nothing, forward and backward") {
  // Odd and even numbers of positions, streams with earlier keys, one query.
  for (const auto& [queries, keys, masked] : {std::tuple<int64_t, int64_t, bool>{7, 7, false},
                                              {5, 9, true},
                                              {5, 12, true},
                                              {4, 5, false},
                                              {1, 1, false},
                                              {1, 6, true}}) {
    for (const int64_t multiple : {2, 8, 64}) {
      CAPTURE(queries);
      CAPTURE(keys);
      CAPTURE(multiple);
      Case padded = make_case(queries, keys, masked), plain = make_case(queries, keys, masked);
      padded.input.column_multiple = multiple;
      plain.input.column_multiple = 1;
      const at::Tensor y = s2s::rel_attention(padded.input);
      const at::Tensor expected = s2s::rel_attention(plain.input);
      CHECK((y - expected).abs().max().item<double>() < 1e-6);
      y.backward(padded.upstream);
      expected.backward(plain.upstream);
      const auto ours = gradients(padded.input), plains = gradients(plain.input);
      for (size_t i = 0; i < ours.size(); ++i) {
        CAPTURE(i);
        CHECK(ours[i].sizes() == plains[i].sizes());
        CHECK((ours[i] - plains[i]).abs().max().item<double>() < 2e-6);
      }
    }
  }
}

TEST_CASE("on a CPU the positions are not padded, elsewhere to a multiple of eight") {
  const auto of = [](int64_t multiple) {
    Case c = make_case(7, 7, false);
    c.input.column_multiple = multiple;
    const at::Tensor y = s2s::rel_attention(c.input);
    y.backward(c.upstream);
    std::vector<at::Tensor> all = gradients(c.input);
    all.push_back(y.detach());
    return all;
  };
  const auto by_default = of(0), named = of(device().is_cpu() ? 1 : 8);
  for (size_t i = 0; i < named.size(); ++i) CHECK(by_default[i].equal(named[i]));
}

TEST_CASE("dropped attention weights are scaled up and stay dropped in backward") {
  Case c = make_case(40, 40, false);
  c.input.v_BUM = at::ones({2, 40, 12}, device()).set_requires_grad(true);
  c.input.dropout = 0.5;
  const at::Tensor y = s2s::rel_attention(c.input);
  CHECK(std::abs(y.mean().item<double>() - 1) < 0.1);
  CHECK(y.std().item<double>() > 0.05);
  y.sum().backward();
  // Each row's weights add up to its output, so the gradient of v adds up to y.
  CHECK(c.input.v_BUM.grad().sum().item<double>() ==
        doctest::Approx(y.sum().item<double>()).epsilon(1e-3));
}
