#include "nn/kernels/striding_fused.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

namespace {

using at::Tensor;

/// 3 x 3, stride 2, on [B, C, T, F].
Tensor convolved(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t left,
                 int64_t groups) {
  const std::array<int64_t, 2> none{0, 0};
  return at::conv2d(at::constant_pad_nd(x, {left, 1, left, 1}), weight, bias, {2, 2},
                    at::IntArrayRef(none), {1, 1}, groups);
}

/// ReLU of the frames before each row's length, zero after them.
Tensor let_through(const Tensor& x_BCTF, const Tensor& lengths_B) {
  const Tensor valid = at::arange(x_BCTF.size(2)).unsqueeze(0) < lengths_B.unsqueeze(1);
  return at::where(valid.unsqueeze(1).unsqueeze(-1), x_BCTF.relu(), 0.0);
}

struct StridingCase {
  int64_t left, frames, bands, channels = 32;
  int64_t thin_frames() const { return (frames + left) / 2; }
  int64_t thin_bands() const { return (bands + left) / 2; }
};

std::vector<Tensor> random_weights(int64_t channels) {
  std::vector<Tensor> weights{at::randn({channels, 1, 3, 3}), at::randn({channels}),
                              at::randn({channels, 1, 3, 3}), at::randn({channels})};
  for (Tensor& weight : weights) weight.requires_grad_();
  return weights;
}

/// Gradients of `leaves` for a random direction at `y`; the leaves are left without.
std::vector<Tensor> gradients(const Tensor& y, const Tensor& direction,
                              const std::vector<Tensor>& leaves) {
  y.backward(direction);
  std::vector<Tensor> out;
  for (const Tensor& leaf : leaves) {
    out.push_back(leaf.grad());
    leaf.mutable_grad() = Tensor();
  }
  return out;
}

void check_close(const Tensor& a, const Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  CHECK((a - b).abs().max().item<double>() <= 1e-5 * (1 + b.abs().max().item<double>()));
}

const std::vector<StridingCase> kCases{
    {1, 37, 21}, {1, 40, 24}, {2, 37, 24}, {2, 40, 21}, {2, 3, 5, 16}};

}  // namespace

TEST_CASE("the first two convolutions in one pass equal the plain ones, gradients too") {
  at::manual_seed(3);
  for (const StridingCase& c : kCases) {
    CAPTURE(c.frames);
    const Tensor x = at::randn({3, c.frames, c.bands});
    const Tensor lengths =
        at::tensor({c.thin_frames(), c.thin_frames() - 1, int64_t{1}}, at::kLong);
    const std::vector<Tensor> w = random_weights(c.channels);
    const Tensor active = let_through(convolved(x.unsqueeze(1), w[0], w[1], c.left, 1), lengths);
    const Tensor plain = convolved(active, w[2], w[3], c.left, c.channels).permute({0, 2, 3, 1});
    const Tensor direction = at::randn(plain.sizes());
    const auto expected = gradients(plain, direction, w);
    const Tensor fused =
        s2s::first_two_convolutions(x, lengths, {w[0], w[1]}, {w[2], w[3]}, c.left);
    check_close(fused, plain);
    const auto got = gradients(fused, direction, w);
    for (size_t i = 0; i < got.size(); ++i) check_close(got[i], expected[i]);
  }
}

TEST_CASE("ReLU and depth-wise convolution in one pass equal the plain ones, gradients too") {
  at::manual_seed(4);
  for (const StridingCase& c : kCases) {
    CAPTURE(c.frames);
    const Tensor x = at::randn({3, c.frames, c.bands, c.channels}).requires_grad_();
    const Tensor lengths = at::tensor({c.frames, c.frames - 2, int64_t{0}}, at::kLong);
    const std::vector<Tensor> w = random_weights(c.channels);
    const std::vector<Tensor> leaves{x, w[2], w[3]};
    const Tensor active = let_through(x.permute({0, 3, 1, 2}), lengths);
    const Tensor plain = convolved(active, w[2], w[3], c.left, c.channels).permute({0, 2, 3, 1});
    const Tensor direction = at::randn(plain.sizes());
    const auto expected = gradients(plain, direction, leaves);
    const Tensor fused = s2s::relu_depthwise(x, lengths, {w[2], w[3]}, c.left);
    check_close(fused, plain);
    const auto got = gradients(fused, direction, leaves);
    for (size_t i = 0; i < got.size(); ++i) check_close(got[i], expected[i]);
  }
}

TEST_CASE("only whole blocks of channels in float32 are fused") {
  const Tensor x = at::randn({1, 9, 9});
  CHECK(s2s::is_striding_fused(x, at::randn({32, 1, 3, 3})));
  CHECK_FALSE(s2s::is_striding_fused(x, at::randn({24, 1, 3, 3})));
  CHECK_FALSE(s2s::is_striding_fused(x, at::randn({32, 1, 3, 3}, at::kDouble)));
}
