// Connectors between an encoder and a language model: streams, plans and what is refused. Their
// values are compared with NeMo's by tests/reference.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "common/places.h"
#include "plan/plan_check.h"
#include "plugins/built_plugins.h"
#include "s2s/error.h"
#include "s2s/kinds/encoder.h"
#include "s2s/nn/perception.h"
#include "s2s/nn/weights.h"

// Shape letters: B batch, S samples, T frames, H width.

using namespace s2s;
using namespace s2s::test;

namespace {

constexpr int64_t kWidth = 24;  // of the language model

/// A streaming encoder of three layers and width 16, with 40 ms per frame.
std::unique_ptr<Encoder> small_encoder(const std::string& change = "") {
  static BuiltPlugins plugins;
  Config node = parse_json(R"({"name": "fastconformer", "preprocessor": {"features": 20},
    "encoder": {"feat_in": 20, "n_layers": 3, "d_model": 16, "n_heads": 4,
      "subsampling_factor": 4, "subsampling_conv_channels": 8, "ff_expansion_factor": 2,
      "att_context_size": [6, 1], "conv_kernel_size": 5, "dropout": 0.0,
      "dropout_pre_encoder": 0.0}})",
                           "encoder");
  if (!change.empty()) node["encoder"]["d_model"] = Config::scalar(change);
  BuildContext context;
  context.path = "model.encoder";
  return plugins.create<Encoder>(node, context);
}

std::unique_ptr<Perception> perception(const std::string& adapter, const std::string& width = "") {
  const auto options =
      read_options<ModalityAdapterOptions>(parse_json(adapter, "test"), "model.modality_adapter");
  auto made = std::make_unique<Perception>(small_encoder(width), options, kWidth);
  made->materialize(at::kCPU, at::kFloat, 3);
  made->train(false);
  return made;
}

std::string id_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.id();
  }
  return "no error";
}

constexpr const char* kInner = R"("type": "multi_layer_projection", "target_layer_ids": [-3, 1])";
constexpr const char* kStacked = R"("type": "frame_stacking", "frame_stacking": {"factor": 3})";
constexpr const char* kSummed = R"("type": "weighted_sum", "target_layer_ids": [0, 1])";
constexpr const char* kPooled = R"("type": "frame_pooling", "frame_pooling": {"factor": 3})";
constexpr const char* kPrompts = R"("type": "qformer", "target_layer_ids": [0],
    "qformer": {"prompt_size": 5, "num_attention_heads": 4, "intermediate_size": 12})";
constexpr const char* kConformer = R"("type": "conformer", "conformer": {"feat_in": 16,
    "n_layers": 1, "d_model": 12, "n_heads": 4, "subsampling_factor": 1, "ff_expansion_factor": 2,
    "att_context_size": [8, 3], "att_context_style": "chunked_limited", "conv_kernel_size": 5,
    "conv_norm_type": "layer_norm", "conv_context_size": "causal"})";

std::string adapter(const std::string& keys) { return "{" + keys + "}"; }
std::string with_time(const std::string& keys) {
  return adapter(keys + R"(, "rote": {"enabled": true, "rotary_fraction": 0.8, "theta": 20})");
}

struct Piece {
  int64_t begin, size;
};

/// Cuts of random sizes that cover `samples`.
std::vector<Piece> random_pieces(int64_t samples) {
  std::vector<Piece> pieces;
  for (int64_t begin = 0; begin < samples; begin += pieces.back().size) {
    pieces.push_back({begin, std::min(samples - begin, at::randint(3001, {1}).item<int64_t>())});
  }
  return pieces;
}

}  // namespace

TEST_CASE("connectors on live audio equal the whole recording, whatever the pieces") {
  at::manual_seed(8);
  const std::string last = std::string(kInner) + R"(, "include_final_output": false)";
  for (const std::string& options :
       {adapter(R"("type": "identity")"), with_time(R"("type": "identity")"), adapter(kConformer),
        adapter(kInner), with_time(last), adapter(kStacked), with_time(kStacked), adapter(kSummed),
        adapter(kPooled)}) {
    const auto made = perception(options);
    for (const int64_t samples : {0, 1280, 17777}) {
      CAPTURE(options);
      CAPTURE(samples);
      const at::Tensor audio_BS = at::randn({2, samples}) * 0.1;
      const EncoderOutput out = made->forward(audio_BS, at::full({2}, samples, at::kLong));
      const int64_t frames = made->output_frames(samples);
      CHECK(out.lengths_B.eq(frames).all().item<bool>());
      CHECK(out.features_BTH.size(1) == made->output_width(samples));
      const auto stream = made->open_stream(2);
      std::vector<at::Tensor> parts;
      for (const Piece& piece : random_pieces(samples)) {
        parts.push_back(stream->push(audio_BS.narrow(1, piece.begin, piece.size)));
      }
      parts.push_back(stream->finish());
      const at::Tensor live = at::cat(parts, 1);
      REQUIRE(live.sizes() == at::IntArrayRef({2, frames, kWidth}));
      if (frames == 0) continue;
      CHECK((live - out.features_BTH.narrow(1, 0, frames)).abs().max().item<double>() < 1e-4);
    }
  }
}

TEST_CASE("a row's groups of frames do not depend on the other rows of its batch") {
  at::manual_seed(4);
  for (const char* keys : {kStacked, kPooled}) {
    CAPTURE(keys);
    const auto made = perception(adapter(keys));
    const at::Tensor audio_BS = at::randn({2, 12800}) * 0.1;
    const EncoderOutput both = made->forward(audio_BS, at::tensor({12800, 7000}, at::kLong));
    const EncoderOutput one =
        made->forward(audio_BS.slice(0, 1).slice(1, 0, 7000), at::tensor({7000}, at::kLong));
    const int64_t frames = one.lengths_B[0].item<int64_t>();
    CHECK(frames == made->output_frames(7000));
    CHECK(both.lengths_B[1].item<int64_t>() == frames);
    const at::Tensor difference =
        both.features_BTH[1].slice(0, 0, frames) - one.features_BTH[0].slice(0, 0, frames);
    CHECK(difference.abs().max().item<double>() < 1e-5);
  }
}

namespace {

/// Any parameter of a connector by the end of its name.
at::Tensor parameter(Block& block, const std::string& end) {
  for (const NamedTensor& one : block.named_parameters()) {
    if (one.name.ends_with(end)) return *one.tensor;
  }
  FAIL("there is no parameter ", end);
  return {};
}

at::Tensor projected(Block& block, const at::Tensor& x) {
  return at::linear(x, parameter(block, "modality_adapter.proj.weight"),
                    parameter(block, "modality_adapter.proj.bias"));
}

}  // namespace

TEST_CASE("pooled frames are torch's means, and outputs are summed by shares") {
  at::manual_seed(6);
  const at::NoGradGuard no_grad;
  const at::Tensor audio_BS = at::randn({1, 12000}) * 0.1,
                   length_B = at::full({1}, 12000, at::kLong);
  const auto pooling = perception(adapter(kPooled));
  const EncoderOutput heard = pooling->encoder().forward(audio_BS, length_B);
  const int64_t frames = heard.lengths_B[0].item<int64_t>();
  REQUIRE(frames % 3 != 0);  // the last mean is of fewer frames
  const at::Tensor x_BFT = heard.features_BTH.slice(1, 0, frames).transpose(1, 2);
  const at::Tensor means_BTF =
      at::avg_pool1d(x_BFT, {3}, {3}, {0}, /*ceil_mode=*/true).transpose(1, 2);
  const EncoderOutput pooled = pooling->forward(audio_BS, length_B);
  const int64_t groups = means_BTF.size(1);
  CHECK(pooled.lengths_B[0].item<int64_t>() == groups);
  CHECK(at::allclose(pooled.features_BTH.slice(1, 0, groups), projected(*pooling, means_BTF), 1e-5,
                     1e-6));

  const auto summing = perception(adapter(kSummed));  // layers 0 and 1, and the output
  const at::Tensor weights_N = parameter(*summing, "modality_adapter.layer_weights");
  REQUIRE(weights_N.sizes() == at::IntArrayRef{3});
  weights_N.copy_(at::tensor({0.0, 1.0, -2.0}));
  const at::Tensor outputs_BTF = summing->encoder().forward(audio_BS, length_B).features_BTH;
  at::Tensor sum_BTD = at::zeros({1});
  for (int64_t n = 0; n < 3; ++n) {
    sum_BTD = sum_BTD + at::softmax(weights_N, 0)[n] * outputs_BTF.chunk(3, -1)[n];
  }
  CHECK(at::allclose(summing->forward(audio_BS, length_B).features_BTH,
                     projected(*summing, sum_BTD), 1e-5, 1e-6));
}

TEST_CASE("a Q-Former gives its prompts for any recording, and cannot stream") {
  at::manual_seed(4);
  const auto made = perception(with_time(kPrompts));
  CHECK(made->frame_rate_hz() == 0);
  for (const int64_t samples : {3000, 9000}) {
    const EncoderOutput out =
        made->forward(at::randn({2, samples}), at::full({2}, samples, at::kLong));
    CHECK(out.features_BTH.sizes() == at::IntArrayRef({2, 5, kWidth}));
    CHECK(out.lengths_B.eq(5).all().item<bool>());
    CHECK(made->output_frames(samples) == 5);
  }
  CHECK(id_of([&] { made->open_stream(1); }) == "encoder/not-streamable");
}

TEST_CASE("every connector's plan covers its parameters") {
  for (const char* keys :
       {R"("type": "identity")", kConformer, kInner, kSummed, kStacked, kPooled, kPrompts}) {
    CAPTURE(keys);
    const auto made = perception(with_time(keys));
    PlanCheckInputs inputs;
    inputs.mesh.tensor = 2;
    const Findings findings = check_plan(*made, made->configure_model(inputs.mesh), inputs);
    CHECK_MESSAGE(findings.empty(), (findings.empty() ? "" : findings.errors()[0].what()));
  }
}

TEST_CASE("connectors say which frame rate they leave") {
  CHECK(perception(adapter(kInner))->frame_rate_hz() == doctest::Approx(25));
  CHECK(perception(adapter(kStacked))->frame_rate_hz() == doctest::Approx(25.0 / 3));
  CHECK(perception(adapter(kPooled))->frame_rate_hz() == doctest::Approx(25.0 / 3));
  CHECK(perception(adapter(kSummed))->frame_rate_hz() == doctest::Approx(25));
}

TEST_CASE("options of a connector that do not fit are refused") {
  const auto id = [](const std::string& keys, const std::string& width = "") {
    return id_of([&] { perception(adapter(keys), width); });
  };
  CHECK(id(R"("project": false)") == "model/connector");
  CHECK(id(R"("project": false)", "24") == "no error");
  CHECK(id(R"("type": "multi_layer_projection", "target_layer_ids": [3])") == "encoder/layers");
  CHECK(id(R"("type": "multi_layer_projection", "target_layer_ids": [2, -1])") == "encoder/layers");
  CHECK(id(R"("type": "multi_layer_projection", "include_final_output": false)") ==
        "encoder/layers");
  CHECK(id(R"("type": "weighted_sum", "target_layer_ids": [3])") == "encoder/layers");
  CHECK(id(R"("type": "frame_pooling", "frame_pooling": {"factor": 0})") == "config/bounds");
  CHECK(id(R"("type": "qformer", "qformer": {"num_attention_heads": 5})") == "model/connector");
  CHECK(id(R"("rote": {"enabled": true, "dim": 32})") == "model/connector");
  CHECK(id(R"("rote": {"enabled": true, "rotary_fraction": 0.1})") == "model/connector");
}
