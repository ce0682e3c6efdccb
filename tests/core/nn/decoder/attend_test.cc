#include "nn/decoder/attend.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <cmath>

#include "common/device.h"
#include "nn/decoder/capped_attention.h"
#include "nn/kernels/decode_attention.h"

using s2s::test::device;

namespace {

/// The formula, one query at a time, in float64.
at::Tensor by_formula(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                      const s2s::AttentionSpec& facts) {
  const int64_t heads = q.size(1), num_new = q.size(2), before = k.size(2) - num_new;
  const double scale =
      facts.scale != 0 ? facts.scale : 1 / std::sqrt(static_cast<double>(q.size(3)));
  std::vector<at::Tensor> by_head;
  for (int64_t h = 0; h < heads; ++h) {
    const int64_t kv = h * k.size(1) / heads;
    std::vector<at::Tensor> rows;
    for (int64_t t = 0; t < num_new; ++t) {
      const int64_t end = before + t + 1;
      const int64_t begin = facts.window > 0 ? std::max<int64_t>(0, end - facts.window) : 0;
      const at::Tensor keys = k.select(1, kv).slice(1, begin, end).to(at::kDouble);
      const at::Tensor values = v.select(1, kv).slice(1, begin, end).to(at::kDouble);
      const at::Tensor query = q.select(1, h).slice(1, t, t + 1).to(at::kDouble);
      at::Tensor scores = at::matmul(query, keys.transpose(1, 2)) * scale;
      if (facts.soft_cap > 0) scores = facts.soft_cap * (scores / facts.soft_cap).tanh();
      rows.push_back(at::matmul(scores.softmax(-1), values));
    }
    by_head.push_back(at::cat(rows, 1));
  }
  return at::stack(by_head, 1);
}

double largest(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

struct Case {
  int64_t kv_heads, num_new, num_all, head_dim;
  s2s::AttentionSpec facts;
};

/// Windows shorter than, as long as and longer than the text; caps that bend the scores.
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const int64_t head_dim : {6, 16}) {
    for (const auto& [num_new, num_all] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {1, 12}, {12, 12}, {5, 12}}) {
      for (const int64_t window : {0, 1, 4, 12, 40}) {
        for (const double soft_cap : {0.0, 1.5}) {
          cases.push_back({2, num_new, num_all, head_dim, {0, soft_cap, window}});
        }
      }
      cases.push_back({1, num_new, num_all, head_dim, {0.2, 0, 0}});
      cases.push_back({4, num_new, num_all, head_dim, {0.2, 2.5, 3}});
    }
  }
  return cases;
}

}  // namespace

TEST_CASE("attention follows its formula with any window, cap and scale, and so do its gradients") {
  at::manual_seed(4);
  for (const Case& c : all_cases()) {
    CAPTURE(c.kv_heads);
    CAPTURE(c.num_new);
    CAPTURE(c.num_all);
    CAPTURE(c.head_dim);
    CAPTURE(c.facts.window);
    CAPTURE(c.facts.soft_cap);
    std::vector<at::Tensor> ours = {at::randn({2, 4, c.num_new, c.head_dim}, device()) * 2,
                                    at::randn({2, c.kv_heads, c.num_all, c.head_dim}, device()),
                                    at::randn({2, c.kv_heads, c.num_all, c.head_dim}, device())};
    std::vector<at::Tensor> plain;
    for (at::Tensor& x : ours) plain.push_back(x.to(at::kDouble).set_requires_grad(true));
    const at::Tensor expected = by_formula(plain[0], plain[1], plain[2], c.facts);
    {
      const at::NoGradGuard no_grad;
      CHECK(largest(s2s::attend(ours[0], ours[1], ours[2], c.facts), expected) < 1e-5);
    }
    for (at::Tensor& x : ours) x.set_requires_grad(true);
    const at::Tensor y = s2s::attend(ours[0], ours[1], ours[2], c.facts);
    CHECK(largest(y, expected) < 1e-5);
    const at::Tensor direction = at::randn(y.sizes(), device());
    (y * direction).sum().backward();
    (expected * direction).sum().backward();
    for (size_t i = 0; i < ours.size(); ++i) {
      CHECK(largest(ours[i].grad(), plain[i].grad()) < 2e-5);
    }
  }
}

TEST_CASE("one query in bfloat16 sees its window under its cap, with the kernel and without") {
  at::manual_seed(5);
  const at::NoGradGuard no_grad;
  for (const int64_t head_dim : {int64_t{6}, s2s::rows::kDimStep<at::BFloat16>}) {
    for (const s2s::AttentionSpec& facts :
         {s2s::AttentionSpec{0, 0, 5}, {0, 1.5, 0}, {0.3, 1.5, 7}}) {
      const at::Tensor q = at::randn({2, 4, 1, head_dim}, device()).to(at::kBFloat16);
      const at::Tensor k = at::randn({2, 2, 20, head_dim}, device()).to(at::kBFloat16);
      const at::Tensor v = at::randn({2, 2, 20, head_dim}, device()).to(at::kBFloat16);
      CHECK(largest(s2s::attend(q, k, v, facts), by_formula(q, k, v, facts)) < 0.03);
    }
  }
}

TEST_CASE("capped attention is the same for a few heads at a time, with its gradients") {
  at::manual_seed(6);
  const s2s::AttentionSpec spec{0, 1.5, 0};
  const at::Tensor visible = at::ones({7, 7}, device()).to(at::kBool).tril();
  std::vector<at::Tensor> inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(at::randn({2, 5, 7, 6}, device()));
  const at::Tensor direction = at::randn({2, 5, 7, 6}, device());
  const auto results = [&](int64_t most_bytes) {
    std::vector<at::Tensor> leaves;
    for (const at::Tensor& x : inputs) leaves.push_back(x.clone().set_requires_grad(true));
    const at::Tensor y =
        s2s::attend_capped(leaves[0], leaves[1], leaves[2], visible, spec, most_bytes);
    (y * direction).sum().backward();
    return std::vector<at::Tensor>{y, leaves[0].grad(), leaves[1].grad(), leaves[2].grad()};
  };
  const std::vector<at::Tensor> all_heads = results(s2s::kMostScoreBytes);
  const int64_t bytes_of_head = 2 * 7 * 7 * 4;
  for (const int64_t most_bytes : {int64_t{1}, 2 * bytes_of_head, 3 * bytes_of_head}) {
    const std::vector<at::Tensor> some_heads = results(most_bytes);
    for (size_t i = 0; i < all_heads.size(); ++i) {
      CHECK(largest(some_heads[i], all_heads[i]) < 1e-6);
    }
  }
}

TEST_CASE("capped attention under autocast computes its products in autocast's dtype") {
  at::manual_seed(7);
  const at::DeviceType type = device().type();
  std::vector<at::Tensor> leaves;
  for (int i = 0; i < 3; ++i) {
    leaves.push_back(at::randn({1, 2, 9, 8}, device()).set_requires_grad(true));
  }
  at::autocast::set_autocast_dtype(type, at::kBFloat16);
  at::autocast::set_autocast_enabled(type, true);
  const at::Tensor y = s2s::attend(leaves[0], leaves[1], leaves[2], {0, 1.5, 0});
  at::autocast::set_autocast_enabled(type, false);
  at::autocast::clear_cache();
  CHECK((y.scalar_type() == at::kBFloat16));
  y.sum().backward();
  std::vector<at::Tensor> plain;
  for (const at::Tensor& x : leaves) plain.push_back(x.detach().clone().set_requires_grad(true));
  by_formula(plain[0], plain[1], plain[2], {0, 1.5, 0}).sum().backward();
  for (size_t i = 0; i < leaves.size(); ++i) {
    CHECK((leaves[i].grad().scalar_type() == at::kFloat));
    CHECK(largest(leaves[i].grad(), plain[i].grad()) < 0.1);
  }
}

TEST_CASE("dropout drops the weights that at::dropout drops after the softmax") {
  at::manual_seed(11);
  const at::Tensor q = at::randn({2, 4, 6, 8}), k = at::randn({2, 2, 6, 8}),
                   v = at::randn({2, 2, 6, 8});
  const auto repeated = [](const at::Tensor& x) { return x.repeat_interleave(2, 1); };
  for (const int64_t window : {0, 3}) {
    for (const double soft_cap : {0.0, 1.5}) {
      CAPTURE(window);
      CAPTURE(soft_cap);
      const s2s::AttentionSpec spec{0, soft_cap, window, 0.4};
      at::manual_seed(5);
      const at::Tensor found = s2s::attend(q, k, v, spec);
      at::Tensor scores = at::matmul(q, repeated(k).transpose(2, 3)) / std::sqrt(8.0);
      if (soft_cap > 0) scores = soft_cap * (scores / soft_cap).tanh();
      at::Tensor visible = at::ones({6, 6}, at::kBool).tril();
      if (window > 0) visible = visible.triu(1 - window);
      at::manual_seed(5);
      const at::Tensor weights =
          at::dropout(scores.masked_fill(visible.logical_not(), -INFINITY).softmax(-1), 0.4, true);
      CHECK(largest(found, at::matmul(weights, repeated(v))) < 1e-6);
      CHECK(largest(found, s2s::attend(q, k, v, {0, soft_cap, window, 0})) > 0.1);
    }
  }
}
