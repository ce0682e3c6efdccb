// NeMo's other attentions of a Conformer: windows of frames, with global frames, and absolute
// positions. Values of NeMo are in tests/reference.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>
#include <sys/resource.h>

#include "common/device.h"
#include "nn/speech/conformer_parts.h"
#include "nn/speech/local_attention.h"
#include "s2s/error.h"
#include "train/precision.h"

// Shape letters: B batch, T frames, F features, P positions.

using namespace s2s;
using s2s::test::device;
using s2s::test::on_device;

namespace {

Config context_of(int64_t left, int64_t right) {
  return Config::list(
      {Config::scalar(std::to_string(left)), Config::scalar(std::to_string(right))});
}

/// Without subsampling, so that each frame counts.
ConformerOptions small(const std::string& attention, int64_t left, int64_t right) {
  ConformerOptions o;
  o.feat_in = 12;
  o.n_layers = 2;
  o.d_model = 16;
  o.n_heads = 4;
  o.subsampling_factor = 1;
  o.ff_expansion_factor = 2;
  o.self_attention_model = attention;
  o.att_context_size = context_of(left, right);
  o.conv_kernel_size = 3;
  o.conv_norm_type = "layer_norm";
  o.dropout = o.dropout_emb = o.dropout_pre_encoder = 0;
  return o;
}

ConformerOptions with_global(int64_t tokens, int64_t spacing, bool separate) {
  ConformerOptions o = small("rel_pos_local_attn", 4, 3);
  o.global_tokens = tokens;
  o.global_tokens_spacing = spacing;
  o.global_attn_separate = separate;
  return o;
}

/// The same weights for each encoder of the same names.
void fill(Block& block) {
  block.materialize(device(), at::kFloat, 1);
  at::manual_seed(3);
  for (NamedTensor& p : block.named_parameters()) p.tensor->data().normal_(0, 0.3);
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return a.numel() == 0 ? 0 : (a - b).abs().max().item<double>();
}

std::string id_of(const ConformerOptions& options) {
  try {
    options.check("encoder");
  } catch (const Error& error) {
    return error.id();
  }
  return "none";
}

}  // namespace

TEST_CASE("a window gives the values and gradients of a mask on all pairs of frames") {
  for (const auto& [width, frames] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 40}, {3, 1}, {3, 5}, {3, 16}, {3, 17}, {5, 70}, {20, 19}, {20, 61}}) {
    CAPTURE(width);
    CAPTURE(frames);
    ConformerEncoder masked(small("rel_pos", width, width));
    ConformerEncoder local(small("rel_pos_local_attn", width, width));
    fill(masked);
    fill(local);
    const at::Tensor x = at::randn({2, frames, 12}, device());
    const at::Tensor lengths = at::tensor({frames, (frames + 1) / 2}, on_device(at::kLong));
    const at::Tensor way = at::randn({2, frames, 16}, device());
    std::vector<at::Tensor> outputs, inputs;
    for (ConformerEncoder* encoder : {&masked, &local}) {
      inputs.push_back(x.clone().requires_grad_());
      outputs.push_back(encoder->forward(inputs.back(), lengths).features_BTH);
      (outputs.back() * way).sum().backward();
    }
    CHECK(difference(outputs[0], outputs[1]) < 1e-5);
    CHECK(difference(inputs[0].grad(), inputs[1].grad()) < 1e-4);
    const auto theirs = masked.named_parameters(), ours = local.named_parameters();
    REQUIRE(theirs.size() == ours.size());
    for (size_t i = 0; i < ours.size(); ++i) {
      CAPTURE(ours[i].name);
      const at::Tensor expected = theirs[i].tensor->grad();
      CHECK(difference(expected, ours[i].tensor->grad()) <
            1e-5 * (1 + expected.abs().max().item<double>()));
    }
  }
}

TEST_CASE("a row gives the same in each batch, with global frames and without") {
  for (const ConformerOptions& options :
       {small("rel_pos_local_attn", 4, 3), with_global(3, 7, false), with_global(2, 1, true),
        small("abs_pos", -1, -1)}) {
    ConformerEncoder encoder(options);
    fill(encoder);
    encoder.train(false);
    const at::Tensor x = at::randn({3, 50, 12}, device());
    const std::vector<int64_t> frames = {50, 31, 10};  // 10: two global frames of three
    const at::Tensor lengths = at::tensor(frames, on_device(at::kLong));
    const at::Tensor all = encoder.forward(x, lengths).features_BTH;
    for (int64_t row = 0; row < 3; ++row) {
      const int64_t count = frames[static_cast<size_t>(row)];
      const at::Tensor alone =
          encoder.forward(x.narrow(0, row, 1).narrow(1, 0, count), lengths.narrow(0, row, 1))
              .features_BTH;
      CHECK(difference(all[row].narrow(0, 0, count), alone[0]) < 1e-5);
    }
  }
}

TEST_CASE("every frame sees global frames, and they see every frame") {
  const auto changed = [](const ConformerOptions& options, int64_t frame) {
    ConformerOptions one = options;
    one.n_layers = 1;
    ConformerEncoder encoder(one);
    fill(encoder);
    encoder.train(false);
    at::Tensor x = at::randn({1, 60, 12}, device());
    const at::Tensor lengths = at::full({1}, 60, on_device(at::kLong));
    const at::Tensor before = encoder.forward(x, lengths).features_BTH;
    x[0][frame].add_(1);
    return (encoder.forward(x, lengths).features_BTH - before).abs().amax(-1)[0].gt(1e-6).cpu();
  };
  const auto count = [](const at::Tensor& frames) { return frames.sum().item<int64_t>(); };
  // One more frame on each side by the convolution.
  CHECK(count(changed(small("rel_pos_local_attn", 4, 3), 30)) == 3 + 1 + 4 + 2);
  const ConformerOptions global = with_global(3, 20, true);
  CHECK(count(changed(global, 20)) == 60);
  const at::Tensor heard = changed(global, 31);
  // Frames 0, 20 and 40 see frame 31, and their convolutions' neighbors.
  CHECK(count(heard) == 3 + 1 + 4 + 2 + 2 + 3 + 3);
  for (const int64_t frame : {0, 20, 40}) CHECK(heard[frame].item<bool>());
}

TEST_CASE("gradients reach every parameter of each attention") {
  ConformerOptions tied = with_global(3, 7, true);
  tied.untie_biases = false;  // of rel_pos only
  for (const ConformerOptions& options :
       {with_global(3, 7, false), with_global(2, 5, true), tied, small("abs_pos", 6, 2)}) {
    ConformerEncoder encoder(options);
    fill(encoder);
    const at::Tensor y =
        encoder
            .forward(at::randn({2, 40, 12}, device()), at::tensor({40, 22}, on_device(at::kLong)))
            .features_BTH;
    (y * at::randn_like(y)).sum().backward();
    for (const NamedTensor& parameter : encoder.named_parameters()) {
      CAPTURE(parameter.name);
      REQUIRE(parameter.tensor->grad().defined());
      CHECK(at::isfinite(parameter.tensor->grad()).all().item<bool>());
      CHECK(parameter.tensor->grad().abs().max().item<double>() > 0);
    }
  }
}

TEST_CASE("each attention runs and trains under autocast") {
  for (const ConformerOptions& options :
       {with_global(3, 7, false), with_global(2, 5, true), small("abs_pos", 6, 2)}) {
    ConformerEncoder encoder(options);
    fill(encoder);
    const at::Tensor x = at::randn({2, 40, 12}, device());
    const at::Tensor lengths = at::tensor({40, 22}, on_device(at::kLong));
    const at::Tensor exact = encoder.forward(x, lengths).features_BTH;
    {
      const AutocastScope autocast({at::kFloat, /*autocast=*/at::kBFloat16}, device().type());
      const at::Tensor y = encoder.forward(x, lengths).features_BTH;
      CHECK(difference(y.to(at::kFloat), exact) < 0.2);
      y.sum().backward();
    }
    for (const NamedTensor& parameter : encoder.named_parameters()) {
      CHECK(at::isfinite(parameter.tensor->grad()).all().item<bool>());
    }
  }
}

TEST_CASE("frames of a window whose sides differ get the sinusoids of NeMo's places") {
  const auto distances = [](int64_t left, int64_t right) {
    const at::Tensor table = relative_positions(20, -20, 16, at::kCPU);
    const at::Tensor placed = window_positions({left, right}, 16, at::kCPU);
    std::vector<int64_t> found;  // to the left; 99: none
    for (const at::Tensor& row : placed.unbind(0)) {
      const at::Tensor same = table.eq(row).all(-1);
      found.push_back(same.any().item<bool>() ? 20 - same.to(at::kByte).argmax().item<int64_t>()
                                              : 99);
    }
    return found;
  };
  CHECK(distances(2, 2) == std::vector<int64_t>{2, 1, 0, -1, -2});
  CHECK(distances(4, 3) == std::vector<int64_t>{4, 3, 2, 1, 99, 0, -1, -2});
  CHECK(distances(3, 4) == std::vector<int64_t>{2, 1, 99, 0, -1, -2, -3, -4});
  CHECK(distances(4, 0) == std::vector<int64_t>{4, 3, 2, 1, 99});
  CHECK(distances(0, 2) == std::vector<int64_t>{0, -1, -2});
}

TEST_CASE("the cost of a window grows with the frames, and so does its memory") {
  const auto flops = [](const ConformerOptions& options, int64_t frames) {
    return ConformerEncoder(options).forward_flops(2, frames);
  };
  const ConformerOptions all = small("rel_pos", 4, 3), local = small("rel_pos_local_attn", 4, 3);
  // Two layers, two rows, two operations a product: 8 positions in place of 399, shared by the
  // rows.
  const double positions = 2.0 * 2 * 16 * 16 * (399 - 8);
  CHECK(flops(all, 200) - flops(local, 200) ==
        2.0 * 2 * 2 * 16 * 200 * (2 * 200 + 399 - 3 * 8) + positions);
  CHECK(flops(with_global(3, 7, false), 200) - flops(local, 200) ==
        2.0 * 2 * 2 * 16 * 200 * (2 * 2 * 3));
  const double fixed = 2.0 * 2 * 16 * 16 * 8;
  CHECK(flops(local, 2000) - fixed == 10 * (flops(local, 200) - fixed));
  if (!device().is_cpu()) return;
  const auto peak_kib = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const at::NoGradGuard no_grad;
  ConformerEncoder encoder(local);
  fill(encoder);
  const auto before = peak_kib();
  constexpr int64_t kFrames = 30000;  // all pairs of four heads have 14 GB
  encoder.forward(at::randn({1, kFrames, 12}), at::full({1}, kFrames, at::kLong));
  CHECK(peak_kib() - before < 500 * 1024);
}

TEST_CASE("contexts that are no window are refused, and only rel_pos is live") {
  const auto local = [](const Config& context) {
    ConformerOptions options = small("rel_pos_local_attn", 4, 3);
    options.att_context_size = context;
    return id_of(options);
  };
  CHECK(local(context_of(4, 3)) == "none");
  CHECK(local(context_of(0, 1)) == "none");
  CHECK(local(Config::list({context_of(4, 3)})) == "none");
  CHECK(local(context_of(0, 0)) == "encoder/value");
  CHECK(local(context_of(-1, 4)) == "encoder/value");
  CHECK(local(Config()) == "encoder/value");
  CHECK(local(Config::list({context_of(4, 3), context_of(2, 2)})) == "encoder/value");
  // Chunks are not used by windows.
  ConformerOptions chunked = small("rel_pos_local_attn", 4, 3);
  chunked.att_context_style = "chunked_limited";
  chunked.att_context_size = context_of(7, 1);
  CHECK(id_of(chunked) == "none");
  for (const char* attention : {"rel_pos_local_attn", "abs_pos"}) {
    ConformerOptions options = small(attention, 4, 0);
    options.conv_context_size = Config::scalar("causal");
    ConformerEncoder encoder(options);
    encoder.materialize(device(), at::kFloat, 0);
    encoder.train(false);
    try {
      encoder.open_stream(1);
      FAIL("it streams");
    } catch (const Error& error) {
      CHECK(error.id() == "encoder/not-streamable");
      CHECK(error.message().find("encoder.self_attention_model") != std::string::npos);
    }
  }
}
