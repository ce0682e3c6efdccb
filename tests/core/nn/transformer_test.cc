#include "s2s/nn/transformer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "common/places.h"
#include "s2s/nn/name_map.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/weights.h"
#include "weights/safetensors.h"

namespace {

s2s::EncoderLayerSpec small_layer() {
  s2s::EncoderLayerSpec spec;
  spec.attention.width = 16;
  spec.attention.num_heads = 4;
  spec.inner_width = 24;
  return spec;
}

/// wav2vec 2.0's names.
s2s::EncoderLayerSpec wav2vec2_layer() {
  s2s::EncoderLayerSpec spec = small_layer();
  spec.norm_first = false;
  spec.attention_name = "attention";
  spec.attention_norm = "layer_norm";
  spec.inner = "feed_forward.intermediate_dense";
  spec.outer = "feed_forward.output_dense";
  return spec;
}

/// The largest difference from transformers, before each row's length.
double difference_from_peer(const std::string& name, const s2s::EncoderLayerSpec& spec,
                            const at::Tensor& lengths_B) {
  const at::NoGradGuard no_grad;
  const auto file = s2s::SafetensorsFile::open(s2s::test::source_dir() +
                                               "/tests/reference/data/encoder_layers.safetensors");
  s2s::EncoderLayer layer(spec);
  layer.materialize(at::kCPU, at::kFloat, 1);
  layer.train(false);
  s2s::TensorMap weights;
  for (const auto& [key, entry] : file.entries()) {
    const std::string begin = name + "/weights/";
    if (key.starts_with(begin)) weights[key.substr(begin.size())] = file.tensor(key);
  }
  s2s::load_weights(layer, {{{"**", "**"}}, {}}, weights, name);
  const at::Tensor x_BTH = file.tensor("input");
  const at::Tensor seen_BT = s2s::length_mask(lengths_B, x_BTH.size(1));
  const at::Tensor y_BTH = layer(x_BTH, seen_BT.unsqueeze(1).unsqueeze(1));
  const at::Tensor difference = (y_BTH - file.tensor(name + "/output")).abs();
  return (difference * seen_BT.unsqueeze(2)).max().item<double>();
}

TEST_CASE("heads are split and joined in order") {
  const at::Tensor x_BTF = at::arange(24, at::kFloat).view({2, 3, 4});
  const at::Tensor x_BNTD = s2s::to_heads(x_BTF, 2);
  CHECK(x_BNTD.sizes() == at::IntArrayRef({2, 2, 3, 2}));
  CHECK(x_BNTD[1][1][2].equal(x_BTF[1][2].slice(0, 2)));
  CHECK(s2s::from_heads(x_BNTD).equal(x_BTF));
}

TEST_CASE("pairs of halves are rotated by the angles of their positions") {
  const at::Tensor x = at::tensor({1.0f, 2.0f, 3.0f, 4.0f}).view({1, 1, 1, 4}).expand({1, 1, 2, 4});
  const at::Tensor cos_TD = at::tensor({1.0f, 0.0f}).unsqueeze(1).expand({2, 4});
  const at::Tensor sin_TD = at::tensor({0.0f, 1.0f}).unsqueeze(1).expand({2, 4});
  const at::Tensor y = s2s::rotate_halves(x, cos_TD, sin_TD);
  CHECK(y[0][0][0].equal(x[0][0][0]));
  CHECK(y[0][0][1].equal(at::tensor({-3.0f, -4.0f, 1.0f, 2.0f})));
  const at::Tensor half = s2s::rotate_halves(x.to(at::kBFloat16), cos_TD, sin_TD);
  CHECK((half.scalar_type() == at::kBFloat16));
}

TEST_CASE("each row attends to its own keys, or all rows to one entry") {
  const auto scaled = [](const at::Tensor& q, const s2s::SeenKeys& keys) { return q * keys.k; };
  const at::Tensor q = at::tensor({1.0f, 2.0f}).unsqueeze(1);
  const at::Tensor three = at::full({1, 1}, 3.0f), five = at::full({1, 1}, 5.0f);
  CHECK(s2s::attend_seen(q, {{three, {}}}, scaled).flatten().equal(at::tensor({3.0f, 6.0f})));
  CHECK(s2s::attend_seen(q, {{three, {}}, {five, {}}}, scaled)
            .flatten()
            .equal(at::tensor({3.0f, 10.0f})));
}

TEST_CASE("layers of encoders compute what those of transformers compute") {
  s2s::EncoderLayerSpec whisper = small_layer();
  whisper.attention.has_key_bias = false;
  CHECK(difference_from_peer("whisper", whisper, at::tensor({9, 9}, at::kLong)) < 2e-6);
  CHECK(difference_from_peer("wav2vec2", wav2vec2_layer(), at::tensor({9, 5}, at::kLong)) < 2e-6);
}

TEST_CASE("attention to another sequence takes a bias of its scores") {
  const at::NoGradGuard no_grad;
  s2s::MultiHeadAttentionSpec spec;
  spec.width = 8;
  spec.seen_width = 6;
  spec.num_heads = 2;
  spec.has_key_bias = false;
  s2s::MultiHeadAttention attention(spec);
  attention.materialize(at::kCPU, at::kFloat, 3);
  at::manual_seed(5);
  const at::Tensor x = at::randn({1, 3, 8}), seen = at::randn({1, 4, 6});
  const at::Tensor bias = at::zeros({1, 1, 1, 4});
  CHECK(at::allclose(attention(x, seen, bias), attention(x, seen), 1e-5, 1e-6));
  bias.slice(3, 2).fill_(-1e9);
  CHECK(at::allclose(attention(x, seen, bias), attention(x, seen.slice(1, 0, 2)), 1e-5, 1e-6));
  const at::Tensor nothing = attention(x, seen, at::zeros({1, 1, 1, 4}, at::kBool));
  const at::Tensor bias_of_out = *attention.named_parameters().back().tensor;
  CHECK(at::allclose(nothing, bias_of_out.expand_as(nothing)));
}

}  // namespace
