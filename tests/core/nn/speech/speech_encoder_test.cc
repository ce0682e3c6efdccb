// What speech encoders of Hugging Face folders share.

#include "s2s/nn/speech_encoder.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "s2s/nn/weights.h"

using namespace s2s;

namespace {

std::string message_of_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return "[" + error.id() + "] " + error.message();
  }
  return "no error";
}

const EncoderKeys kKeys = {{"acme"}, {"width"}, {"vocab_size"}, {{"act", {"gelu", "relu"}}}};

Config block(const std::string& json) { return parse_json(json, "config.json"); }

}  // namespace

TEST_CASE("keys of a foreign block are options, ignored, fixed, or refused together") {
  const Config read = read_encoder_keys(
      block(R"({"model_type": "acme", "width": 3, "vocab_size": 9, "act": "relu", "extra": false,
                "use_cache": true, "torch_dtype": "float16", "none": null})"),
      kKeys);
  CHECK(read.entries().size() == 1);
  CHECK(read.find("width")->as_int("width") == 3);
  const std::string refused = message_of_error([] {
    read_encoder_keys(block(R"({"model_type": "acme", "act": "silu", "rope_scale": 2})"), kKeys,
                      "audio_config.");
  });
  for (const char* part :
       {"[weights/config]", "audio_config.act", "silu", "gelu", "audio_config.rope_scale"}) {
    CHECK_MESSAGE(refused.find(part) != std::string::npos, refused);
  }
  for (const char* other : {R"({"model_type": "other"})", R"({"width": 3})"}) {
    const std::string message = message_of_error([&] { read_encoder_keys(block(other), kKeys); });
    CHECK_MESSAGE(message.find("model_type") != std::string::npos, message);
  }
}

TEST_CASE("layers that no output needs are not computed") {
  const at::Tensor x = at::zeros({1, 2, 1});
  int64_t computed = 0;
  const auto run = [&](const LayerOutputs& outputs) {
    computed = 0;
    return outputs.run(
        x,
        [&](int64_t i, const at::Tensor& y) {
          ++computed;
          return y + (i == 0 ? 1 : 10);
        },
        [](const at::Tensor& y) { return -y; }, [](const at::Tensor& y) { return 2 * y; });
  };
  LayerOutputs all(3, "model.encoder");
  CHECK(run(all).equal(at::full({1, 2, 1}, -21.0)));
  all.select({0, -1}, true);
  CHECK(all.count() == 3);
  CHECK(run(all)[0][0].equal(at::tensor({2.0F, 42.0F, -21.0F})));
  LayerOutputs first(3, "model.encoder");
  first.select({1}, false);
  CHECK(run(first)[0][0].equal(at::tensor({22.0F})));
  CHECK(computed == 2);
  CHECK(first.num_computed() == 2);
}

TEST_CASE("a layer is split where the tensor axis divides its heads, and whole elsewhere") {
  EncoderLayerSpec spec;
  spec.attention.width = 24;
  spec.attention.num_heads = 6;
  spec.inner_width = 30;
  MeshShape mesh;
  const auto styles = [&](int64_t tensor) {
    mesh.tensor = tensor;
    ShardPlan plan;
    add_encoder_layers(spec, "encoder.layers", mesh, plan);
    CHECK(plan.units.size() == 1);
    int64_t split = 0;
    for (const TensorRow& row : plan.rows) split += row.style != Style::kReplicate ? 1 : 0;
    return split;
  };
  CHECK(styles(1) == 6);
  CHECK(styles(3) == 6);
  CHECK(styles(4) == 0);
  CHECK(styles(5) == 0);
}

TEST_CASE("positions are sines, then cosines, at rates from 1 to 1 / 10000") {
  const at::Tensor table = sinusoid_positions(5, 8);
  REQUIRE(table.sizes() == at::IntArrayRef({5, 8}));
  const at::Tensor frame = at::arange(5, at::kFloat);
  CHECK(table.select(1, 0).allclose(frame.sin()));
  CHECK(table.select(1, 4).allclose(frame.cos()));
  CHECK(table.select(1, 7).allclose((frame / 10000).cos()));
}
