#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <memory>
#include <random>

#include "common/device.h"
#include "s2s/nn/audio.h"
#include "train/precision.h"

using namespace s2s;
using s2s::test::device;

namespace {

/// Random values in every buffer and parameter.
void draw_values(Block& block) {
  block.materialize(device(), at::kFloat, 3);
  for (const NamedTensor& buffer : block.named_buffers()) {
    buffer.tensor->copy_(at::randn(buffer.tensor->sizes()) * 0.5);
  }
}

at::Tensor tensor_of(Block& block, const std::string& name) {
  for (const auto& list : {block.named_buffers(), block.named_parameters()}) {
    for (const NamedTensor& one : list) {
      if (one.name == name) return *one.tensor;
    }
  }
  FAIL("no tensor " << name);
  return {};
}

/// Pieces of drawn sizes, some empty; the last one is empty or not.
at::Tensor in_pieces(const AudioLayer& layer, const at::Tensor& x_BCT, unsigned seed) {
  std::mt19937 draw(seed);
  StreamState state;
  std::vector<at::Tensor> pieces;
  int64_t at = 0;
  while (at < x_BCT.size(2)) {
    const int64_t count = std::min<int64_t>(draw() % 6, x_BCT.size(2) - at);
    const bool is_last = at + count == x_BCT.size(2) && seed % 2 == 0;
    pieces.push_back(layer.push(x_BCT.narrow(2, at, count), state, is_last));
    at += count;
    if (is_last) return at::cat(pieces, 2);
  }
  pieces.push_back(layer.push(x_BCT.narrow(2, at, 0), state, true));
  return at::cat(pieces, 2);
}

/// With gradients, and without, where layers have other kernels.
void check_pieces(const AudioLayer& layer, const at::Tensor& x_BCT, const at::Tensor& expected) {
  if (at::GradMode::is_enabled()) {
    const at::NoGradGuard no_grad;
    check_pieces(layer, x_BCT, expected);
  }
  const at::Tensor whole = layer(x_BCT);
  REQUIRE(whole.sizes() == expected.sizes());
  CHECK((whole - expected).abs().max().item<float>() < 1e-5);
  for (unsigned seed = 0; seed < 4; ++seed) {
    const at::Tensor pieces = in_pieces(layer, x_BCT, seed);
    REQUIRE(pieces.sizes() == expected.sizes());
    CHECK((pieces - expected).abs().max().item<float>() < 1e-5);
  }
}

const char* mode_of(EdgePadding padding) {
  if (padding == EdgePadding::kZeros) return "constant";
  return padding == EdgePadding::kReplicate ? "replicate" : "reflect";
}

}  // namespace

TEST_CASE("a convolution of pieces is that of the whole, with every padding") {
  const at::Tensor x = at::randn({2, 4, 29}).to(device());
  for (const EdgePadding padding :
       {EdgePadding::kZeros, EdgePadding::kReplicate, EdgePadding::kReflect}) {
    for (const bool is_causal : {true, false}) {
      for (const auto& [kernel, stride, dilation, groups] :
           {std::tuple<int64_t, int64_t, int64_t, int64_t>{1, 1, 1, 1},
            {7, 1, 1, 1},
            {3, 1, 3, 4},
            {4, 2, 1, 2},
            {5, 3, 1, 1},
            {2, 2, 1, 1}}) {
        ConvSpec spec{.inputs = 4,
                      .outputs = 8,
                      .kernel = kernel,
                      .stride = stride,
                      .dilation = dilation,
                      .groups = groups,
                      .padding = padding};
        const int64_t reach = (kernel - 1) * dilation + 1;
        int64_t left = reach - stride;
        if (!is_causal) {
          spec.left = left = (reach - stride) / 2;
          spec.right = reach - stride - left;
        }
        CAPTURE(mode_of(padding));
        CAPTURE(is_causal);
        CAPTURE(kernel);
        StreamConv1d layer(spec);
        draw_values(layer);
        const at::Tensor padded = at::pad(x, {left, spec.right}, mode_of(padding));
        check_pieces(
            layer, x,
            at::conv1d(padded, tensor_of(layer, "conv.weight"), tensor_of(layer, "conv.bias"),
                       stride, at::IntArrayRef({0}), dilation, groups));
      }
    }
  }
}

TEST_CASE("a transposed convolution of pieces is that of the whole, causal or cut at both ends") {
  const at::Tensor x = at::randn({2, 4, 17}).to(device());
  for (const auto& [kernel, stride, left, right, groups] :
       {std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>{8, 4, 0, -1, 1},
        {8, 4, 0, -1, 2},
        {2, 2, 0, -1, 2},
        {2, 1, 0, -1, 1},
        {6, 3, 1, 2, 1},
        {8, 4, 2, 2, 1},
        {8, 4, 2, 2, 2},
        {5, 3, 1, 1, 2},
        {9, 3, 2, 4, 2}}) {
    StreamConvTranspose1d layer({.inputs = 4,
                                 .outputs = 6,
                                 .kernel = kernel,
                                 .stride = stride,
                                 .groups = groups,
                                 .left = left,
                                 .right = right,
                                 .name = ""});
    draw_values(layer);
    const at::Tensor full = at::conv_transpose1d(x, tensor_of(layer, "weight"),
                                                 tensor_of(layer, "bias"), stride, 0, 0, groups);
    const int64_t dropped = right == -1 ? kernel - stride : right;
    CAPTURE(kernel);
    check_pieces(layer, x, full.slice(2, left, full.size(2) - dropped));
  }
}

TEST_CASE("weights are themselves or a direction and a length, buffers or parameters") {
  for (const bool trains : {false, true}) {
    StreamConv1d layer({.inputs = 3, .outputs = 5, .kernel = 3, .form = {trains, true}});
    draw_values(layer);
    CHECK(layer.named_parameters().size() == (trains ? 3 : 0));
    CHECK(layer.named_buffers().size() == (trains ? 0 : 3));
    const at::Tensor v = tensor_of(layer, "conv.weight_v"), g = tensor_of(layer, "conv.weight_g");
    CHECK(g.sizes() == at::IntArrayRef({5, 1, 1}));
    const at::Tensor weight = at::_weight_norm(v, g, 0);  // torch's
    const at::Tensor x = at::randn({1, 3, 8}).to(device());
    const at::Tensor expected =
        at::conv1d(at::pad(x, {2, 0}), weight, tensor_of(layer, "conv.bias"));
    CHECK((layer(x) - expected).abs().max().item<float>() < 1e-5);
    if (!trains) continue;
    layer(x).square().sum().backward();
    for (const NamedTensor& one : layer.named_parameters()) CHECK(one.tensor->grad().defined());
  }
  // A frozen weight that was never set has its own direction and length.
  StreamConv1d plain({.inputs = 3, .outputs = 5, .kernel = 3, .form = {false, true}});
  const at::Tensor v = tensor_of(plain, "conv.weight_v");
  CHECK(at::allclose(at::_weight_norm(v, tensor_of(plain, "conv.weight_g"), 0), v));
}

TEST_CASE("a residual unit adds each input to its own output, with look-ahead too") {
  const at::Tensor x = at::randn({2, 4, 23}).to(device());
  for (const int64_t right : {0, 3}) {
    for (const bool has_shortcut : {false, true}) {
      const ConvSpec wide{
          .inputs = 4, .outputs = 2, .kernel = 7, .left = 6 - right, .right = right};
      const ConvSpec point{.inputs = 2, .outputs = 4};
      std::unique_ptr<AudioLayer> shortcut;
      if (has_shortcut) {
        shortcut = std::make_unique<StreamConv1d>(ConvSpec{.inputs = 4, .outputs = 4});
      }
      ResidualUnit unit("block.", std::move(shortcut));
      unit.add(std::make_unique<Snake>(4))
          .add(std::make_unique<StreamConv1d>(wide))
          .add(std::make_unique<Elu>())
          .add(std::make_unique<StreamConv1d>(point));
      draw_values(unit);
      const at::Tensor alpha = tensor_of(unit, "block.0.alpha") + 1e-9;
      at::Tensor y = x + (alpha * x).sin().square() / alpha;
      y = at::conv1d(at::pad(y, {6 - right, right}), tensor_of(unit, "block.1.conv.weight"),
                     tensor_of(unit, "block.1.conv.bias"));
      y = at::conv1d(at::elu(y), tensor_of(unit, "block.3.conv.weight"),
                     tensor_of(unit, "block.3.conv.bias"));
      const at::Tensor beside = has_shortcut
                                    ? at::conv1d(x, tensor_of(unit, "shortcut.conv.weight"),
                                                 tensor_of(unit, "shortcut.conv.bias"))
                                    : x;
      CAPTURE(right);
      // Snake divides by a random alpha, which may be small.
      const at::Tensor expected = beside + y;
      const double most = 1e-5 * std::max(1.0, expected.abs().max().item<double>());
      CHECK((unit(x) - expected).abs().max().item<double>() < most);
      for (unsigned seed = 0; seed < 8; ++seed) {
        const at::AutoGradMode grad_mode(seed < 4);
        CHECK((in_pieces(unit, x, seed) - expected).abs().max().item<double>() < most);
      }
    }
  }
}

TEST_CASE("an LSTM beside a path around it keeps its state between pieces") {
  if (device().is_privateuseone()) {
    MESSAGE("skipped: LibTorch has an LSTM for CPUs and for GPUs only");
    return;
  }
  StreamLstm layer(6, 2);
  draw_values(layer);
  std::vector<at::Tensor> weights;
  for (const NamedTensor& one : layer.named_buffers()) weights.push_back(*one.tensor);
  REQUIRE(weights.size() == 8);
  CHECK(layer.named_buffers()[5].name == "weight_hh_l1");
  const at::Tensor zeros = at::zeros({2, 2, 6}).to(device());
  for (const int64_t positions : {15, 40}) {  // a few of them have steps of their own
    const at::Tensor x = at::randn({2, 6, positions}).to(device());
    const at::Tensor y = std::get<0>(
        at::lstm(x.permute({2, 0, 1}), {zeros, zeros}, weights, true, 2, 0.0, false, false, false));
    check_pieces(layer, x, x + y.permute({1, 2, 0}));
  }
}

TEST_CASE("a convolution to one output sums over the places of its kernel") {
  for (const bool has_bias : {true, false}) {
    StreamConv1d layer(
        {.inputs = 5, .outputs = 1, .kernel = 3, .dilation = 2, .has_bias = has_bias});
    draw_values(layer);
    const at::Tensor x = at::randn({2, 5, 33}).to(device());
    const at::Tensor bias = has_bias ? tensor_of(layer, "conv.bias") : at::Tensor();
    const int64_t no_padding[] = {0};
    check_pieces(layer, x,
                 at::conv1d(at::pad(x, {4, 0}), tensor_of(layer, "conv.weight"), bias, 1,
                            at::IntArrayRef(no_padding), 2));
  }
}

TEST_CASE("autocast rounds a convolution with gradients and without") {
  StreamConv1d layer({.inputs = 5, .outputs = 4, .kernel = 3});
  draw_values(layer);
  const at::Tensor x = at::randn({2, 5, 33}).to(device());
  const at::Tensor whole = layer(x);
  const AutocastScope autocast(parse_precision("bf16-mixed", "test"), device().type());
  const at::Tensor rounded = layer(x);
  CHECK((rounded.scalar_type() == at::kBFloat16));
  const at::NoGradGuard no_grad;
  CHECK(layer(x).equal(rounded));
  CHECK((rounded - whole).abs().max().item<float>() > 0);
}

TEST_CASE("ELU loses nothing of small numbers") {
  const at::NoGradGuard no_grad;
  const at::Tensor size = at::logspace(-12, 2.5, 3 * 5 * 40, 10, at::kDouble).view({3, 5, 40});
  const at::Tensor x = at::cat({size, -size, at::zeros_like(size)}, 1).to(at::kFloat);
  const at::Tensor expected = at::elu(x.to(at::kDouble));
  const at::Tensor y = Elu()(x.to(device())).cpu().to(at::kDouble);
  CHECK(((y - expected).abs() / expected.abs().clamp_min(1e-30)).max().item<double>() < 1e-6);
}

TEST_CASE("a code of scalar levels counts the first number fastest") {
  const s2s::ScalarLevels levels({8, 5, 3});
  CHECK(levels.codebook_size() == 120);
  const at::Tensor all = at::arange(120, at::kLong).view({4, 30});
  const at::Tensor of_all = levels.levels(all);
  CHECK(of_all.sizes() == at::IntArrayRef({4, 30, 3}));
  CHECK(of_all[0][9].equal(at::tensor({1, 1, 0}, at::kLong)));
  CHECK(of_all[3][29].equal(at::tensor({7, 4, 2}, at::kLong)));
  CHECK(levels.codes(of_all).equal(all));
}

TEST_CASE("residual quantization takes the nearest entry of what is left") {
  std::vector<at::Tensor> books;
  for (int k = 0; k < 3; ++k) books.push_back(at::randn({16, 5}).to(device()));
  const at::Tensor latents = at::randn({2, 7, 5}).to(device());
  at::Tensor left = latents;
  std::vector<at::Tensor> codes, sums;
  for (const at::Tensor& book : books) {
    const at::Tensor distance = (left.unsqueeze(2) - book).square().sum(-1);  // [B, T, V]
    codes.push_back(distance.argmin(-1));
    left = left - at::embedding(book, codes.back());
  }
  for (const EntryDistance distance : {EntryDistance::kCdist, EntryDistance::kExpanded}) {
    const at::Tensor found = residual_codes(latents, books, distance);
    CHECK(at::equal(found, at::stack(codes, -1)));
    CHECK((sum_of_entries(found, books) - (latents - left)).abs().max().item<float>() < 1e-5);
    const at::Tensor first = sum_of_entries(found.narrow(2, 0, 1), books);
    CHECK(at::equal(first, at::embedding(books[0], codes[0])));
  }
}
