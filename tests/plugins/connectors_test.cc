// Connectors between an encoder and a language model: streams, plans and what is refused. Their
// values are compared with NeMo's by tests/reference.

#include <ATen/ATen.h>
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
        adapter(kInner), with_time(last), adapter(kStacked), with_time(kStacked)}) {
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

TEST_CASE("a row's stacks do not depend on the other rows of its batch") {
  at::manual_seed(4);
  const auto made = perception(adapter(kStacked));
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
  for (const char* keys : {R"("type": "identity")", kConformer, kInner, kStacked, kPrompts}) {
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
  CHECK(id(R"("type": "qformer", "qformer": {"num_attention_heads": 5})") == "model/connector");
  CHECK(id(R"("rote": {"enabled": true, "dim": 32})") == "model/connector");
  CHECK(id(R"("rote": {"enabled": true, "rotary_fraction": 0.1})") == "model/connector");
}
