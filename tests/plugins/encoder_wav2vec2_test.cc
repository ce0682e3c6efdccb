// wav2vec 2.0, HuBERT and WavLM: padding, lengths, outputs of layers, folders that do not fit.
// Values are compared with transformers' by tests/reference.

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <filesystem>

#include "plugins/encoder_fixture.h"

// Shape letters: B batch, S samples, T frames, H width.

using namespace s2s;
using namespace s2s::test;

namespace {

constexpr const char* kNames[] = {"wav2vec2", "hubert", "wavlm"};

/// A frame of 160 samples, of which each sees 340.
std::string tiny(const std::string& name, bool is_large, const std::string& more = "") {
  return R"({"name": ")" + name + R"(", "hidden_size": 16, "num_hidden_layers": 3,
    "num_attention_heads": 4, "intermediate_size": 24, "conv_dim": [8, 6, 8],
    "conv_stride": [10, 4, 4], "conv_kernel": [20, 5, 4], "num_conv_pos_embeddings": 6,
    "num_conv_pos_embedding_groups": 2)" +
         (is_large ? R"(, "feat_extract_norm": "layer", "do_stable_layer_norm": true)" : "") +
         more + "}";
}

}  // namespace

TEST_CASE("wav2vec 2.0, HuBERT and WavLM give transformers' values in both forms") {
  EncoderPlugins plugins;
  for (const char* name : kNames) {
    for (const char* form : {"_base", "_large"}) {
      check_reference(plugins, std::string("hf_") + name + form);
    }
  }
}

TEST_CASE("the three keep the promises of an encoder, the base form but for padding") {
  EncoderPlugins plugins;
  for (const char* name : kNames) {
    check_promises(*plugins.ready(tiny(name, true)));
    const auto broken = conformance::broken_promises(*plugins.ready(tiny(name, false)));
    REQUIRE(broken.size() == 1);
    CHECK(has(broken[0], "padding"));
  }
}

TEST_CASE("the large form does not see padding, the base form was trained without a mask") {
  EncoderPlugins plugins;
  at::manual_seed(8);
  const at::Tensor audio_BS = at::randn({3, 4000}) * 0.1 + 0.2;
  const at::Tensor lengths_B = at::tensor({4000, 1777, 0}, at::kLong);
  for (const char* name : kNames) {
    for (const bool is_large : {false, true}) {
      CAPTURE(name);
      const auto encoder = plugins.ready(tiny(name, is_large));
      const EncoderOutput both = encoder->forward(audio_BS, lengths_B);
      CHECK(at::isfinite(both.features_BTH).all().item<bool>());
      CHECK(both.lengths_B[2].item<int64_t>() == 0);
      const at::Tensor alone = features_of(*encoder, audio_BS.slice(0, 1, 2).slice(1, 0, 1777));
      const int64_t frames = both.lengths_B[1].item<int64_t>();
      CHECK(frames == alone.size(1));
      const double far = distance(both.features_BTH.slice(0, 1, 2).slice(1, 0, frames), alone);
      if (is_large) {
        CHECK(far < 1e-4);
      } else {
        CHECK(far > 1e-3);
      }
    }
  }
  const std::string masked = R"(, "return_attention_mask": true)";
  const auto base = plugins.ready(tiny("hubert", false, masked));
  const auto plain = plugins.ready(tiny("hubert", false));
  CHECK(distance(base->forward(audio_BS, lengths_B).features_BTH.slice(0, 0, 1),
                 plain->forward(audio_BS, lengths_B).features_BTH.slice(0, 0, 1)) < 1e-6);
  CHECK(distance(base->forward(audio_BS, lengths_B).features_BTH.slice(0, 1, 2),
                 plain->forward(audio_BS, lengths_B).features_BTH.slice(0, 1, 2)) > 1e-3);
}

TEST_CASE("frames of any number of samples are counted as the convolutions give them") {
  EncoderPlugins plugins;
  for (const bool is_large : {false, true}) {
    const auto encoder = plugins.ready(tiny("wavlm", is_large));
    CHECK(encoder->frame_rate_hz() == 100);
    for (const int64_t n : {0, 19, 20, 59, 60, 179, 180, 339, 340, 499, 500, 501, 4000}) {
      CAPTURE(n);
      CHECK(encoder->output_frames(n) == (n < 180 ? 0 : (n - 180) / 160 + 1));
      const at::Tensor features = features_of(*encoder, at::randn({2, n}));
      CHECK(features.size(1) == encoder->output_width(n));
      CHECK(at::isfinite(features).all().item<bool>());
    }
  }
}

TEST_CASE("outputs of layers are transformers' hidden states") {
  EncoderPlugins plugins;
  at::manual_seed(8);
  const at::Tensor audio_BS = at::randn({2, 4000}) * 0.1;
  for (const bool is_large : {false, true}) {
    const auto outputs = [&](const std::vector<int64_t>& layers, bool last) {
      const auto encoder = plugins.ready(tiny("wav2vec2", is_large));
      encoder->select_outputs(layers, last);
      const at::Tensor features = features_of(*encoder, audio_BS);
      CHECK(features.size(2) == encoder->output_dim());
      return features;
    };
    const at::Tensor all = outputs({0, -1}, true);
    CHECK(all.size(2) == 48);
    CHECK(distance(all.slice(2, 0, 16), outputs({0}, false)) < 1e-6);
    const at::Tensor own = features_of(*plugins.ready(tiny("wav2vec2", is_large)), audio_BS);
    CHECK(distance(all.slice(2, 32), own) < 1e-6);
    const at::Tensor last = all.slice(2, 16, 32);
    // The form with norms first has one more after its last layer.
    CHECK(distance(is_large ? at::layer_norm(last, {16}) : last, own) < 1e-5);
  }
  const auto id = [&](const std::vector<int64_t>& layers) {
    return message_of([&] { plugins.create(tiny("hubert", true))->select_outputs(layers, true); });
  };
  CHECK(has(id({-4}), "[encoder/layers]"));
  CHECK(has(id({0, 0}), "[encoder/layers]"));
}

TEST_CASE("a long recording is encoded in pieces, each by itself") {
  EncoderPlugins plugins;
  at::manual_seed(8);
  // 22 frames of 160 samples, 180 samples the first one: 10, 10, and the last 10, of which 2 are
  // new.
  const int64_t size = 180 + 21 * 160 + 77, piece = 180 + 9 * 160;
  const std::string chunks = R"(, "do_normalize": false, "chunk_length_s": 0.11)";
  const at::Tensor audio_BS = at::randn({1, size}) * 0.1;
  for (const char* name : kNames) {
    for (const bool is_large : {false, true}) {
      CAPTURE(name);
      CAPTURE(is_large);
      const auto encoder = plugins.ready(tiny(name, is_large, chunks));
      const auto whole = plugins.ready(tiny(name, is_large, R"(, "do_normalize": false)"));
      CHECK(encoder->output_frames(size) == 22);
      CHECK(encoder->output_width(size) == 22);
      const at::Tensor features = features_of(*encoder, audio_BS);
      REQUIRE(features.size(1) == 22);
      const auto alone = [&](int64_t first_frame) {
        return features_of(*whole, audio_BS.slice(1, first_frame * 160, first_frame * 160 + piece));
      };
      CHECK(distance(features.slice(1, 0, 10), alone(0)) < 1e-5);
      CHECK(distance(features.slice(1, 10, 20), alone(10)) < 1e-5);
      CHECK(distance(features.slice(1, 20, 22), alone(12).slice(1, 8)) < 1e-5);
      CHECK(distance(features, features_of(*whole, audio_BS)) > 1e-3);
      // Up to the length of a piece, nothing is different.
      CHECK(features_of(*encoder, audio_BS.slice(1, 0, piece + 159))
                .equal(features_of(*whole, audio_BS.slice(1, 0, piece + 159))));
      CHECK(encoder->forward_flops(2, size) == doctest::Approx(6 * whole->forward_flops(1, piece)));
    }
  }
}

TEST_CASE("pieces of a batch: each row as alone, outputs of layers, gradients") {
  EncoderPlugins plugins;
  at::manual_seed(8);
  const std::string chunks = R"(, "chunk_length_s": 0.11)";  // with normalization of whole rows
  const at::Tensor audio_BS = at::randn({4, 4000}) * 0.1 + 0.2;
  const at::Tensor lengths_B = at::tensor({4000, 2777, 1111, 0}, at::kLong);
  for (const char* name : kNames) {
    CAPTURE(name);
    const auto encoder = plugins.ready(tiny(name, true, chunks));
    const EncoderOutput out = encoder->forward(audio_BS, lengths_B);
    CHECK(out.features_BTH.size(1) == encoder->output_width(4000));
    CHECK(at::isfinite(out.features_BTH).all().item<bool>());
    for (int64_t row = 0; row < 3; ++row) {
      const int64_t frames = out.lengths_B[row].item<int64_t>();
      const at::Tensor alone = features_of(
          *encoder, audio_BS.slice(0, row, row + 1).slice(1, 0, lengths_B[row].item<int64_t>()));
      CHECK(alone.size(1) == frames);
      CHECK(distance(out.features_BTH.slice(0, row, row + 1).slice(1, 0, frames), alone) < 1e-4);
    }
    check_promises(*plugins.ready(tiny(name, true, chunks)));
    const auto layers = plugins.ready(tiny(name, true, chunks));
    layers->select_outputs({0}, true);
    const at::Tensor both = features_of(*layers, audio_BS);
    CHECK(both.size(2) == 32);
    CHECK(distance(both.slice(2, 16), features_of(*encoder, audio_BS)) < 1e-5);
    // Without gradients WavLM's layers take a piece at a time.
    const at::NoGradGuard no_grad;
    CHECK(distance(both, features_of(*layers, audio_BS)) < 1e-5);
  }
  const auto encoder = plugins.ready(tiny("wavlm", true, chunks));
  encoder->forward(audio_BS, lengths_B).features_BTH.square().sum().backward();
  for (const auto& parameter : encoder->named_parameters()) {
    CAPTURE(parameter.name);
    REQUIRE(parameter.tensor->grad().defined());
    CHECK(at::isfinite(parameter.tensor->grad()).all().item<bool>());
  }
}

TEST_CASE("a piece has at least one frame") {
  EncoderPlugins plugins;
  const auto message = [&](const std::string& length) {
    return message_of(
        [&] { plugins.create(tiny("hubert", true, R"(, "chunk_length_s": )" + length)); });
  };
  CHECK(has(message("-1"), "chunk_length_s"));
  CHECK(
      has(message("0.01"),
          "[encoder/sizes] model.encoder: chunk_length_s 0.01 is shorter than a frame, which takes "
          "180 samples at 16000 Hz"));
  CHECK(message("0.0113") == "no error");
  CHECK(message("1e300") == "no error");
}

TEST_CASE("none of the three can be used on live audio") {
  EncoderPlugins plugins;
  for (const char* name : kNames) {
    const auto encoder = plugins.ready(tiny(name, true));
    const std::string message = message_of([&] { encoder->open_stream(1); });
    CHECK(has(message, "[encoder/not-streamable] model.encoder: " + std::string(name)));
  }
}

TEST_CASE("presets have the parameters of the published models, and their plans hold") {
  EncoderPlugins plugins;
  struct Published {
    const char *name, *preset;
    int64_t parameters;  // without masked_spec_embed, which pre-training has
  };
  for (const Published& published :
       {Published{"wav2vec2", "wav2vec2_base", 94370944},
        Published{"wav2vec2", "wav2vec2_large", 315427968},
        Published{"wav2vec2", "wav2vec2_large_lv60", 315437696},
        Published{"hubert", "hubert_base", 94370944},
        Published{"hubert", "hubert_large", 315437696},
        Published{"hubert", "hubert_xlarge", 962496128}, Published{"wavlm", "wavlm_base", 94381168},
        Published{"wavlm", "wavlm_large", 315452096}}) {
    CAPTURE(published.preset);
    const auto encoder = plugins.create(std::string(R"({"name": ")") + published.name +
                                        R"(", "preset": ")" + published.preset + R"("})");
    CHECK(count_parameters(*encoder) == published.parameters);
    CHECK(encoder->frame_rate_hz() == 50);
    CHECK(encoder->output_frames(16000) == 49);
    for (const int64_t tensor : {1, 2, 4, 5}) CHECK(plan_holds(*encoder, tensor));
  }
  CHECK(has(message_of([&] { plugins.create(R"({"name": "wavlm", "preset": "hubert_base"})"); }),
            "[config/"));
}

TEST_CASE("folders of any class are read, with both spellings of the normed weight") {
  EncoderPlugins plugins;
  EncoderFolder source("hf_wavlm_large");
  const TensorMap named = source.weights;
  const ReferenceFile& file = source.file();
  for (const char* prefix : {"", "wavlm."}) {
    for (const bool is_old : {false, true}) {
      CAPTURE(prefix);
      source.weights.clear();
      for (const auto& [name, tensor] : named) {
        std::string theirs = prefix + name;
        const size_t at = theirs.find("parametrizations.weight.original");
        if (is_old && at != std::string::npos) {
          theirs.replace(at, std::string::npos, theirs.ends_with("0") ? "weight_g" : "weight_v");
        }
        source.weights[theirs] = tensor;
      }
      for (const char* head :
           {"lm_head.bias", "quantizer.codevectors", "project_q.weight", "projector.weight",
            "tdnn.0.kernel.weight", "layer_weights", "classifier.weight", "objective.weight"}) {
        source.weights[head] = at::zeros({2});
      }
      if (*prefix != '\0') source.weights["feature_extractor.weight"] = at::zeros({2});
      source.write_weights();
      const auto encoder = plugins.ready(source.options());
      const EncoderOutput out = encoder->forward(file.input("audio"), file.input("lengths"));
      CHECK(distance(out.features_BTH[0], file.output("features")[0]) < 1e-4);
    }
  }
  CHECK(plugins.warnings.empty());
  source.weights.erase("wavlm.encoder.layers.0.attention.rel_attn_embed.weight");
  source.weights["wavlm.encoder.layers.1.attention.gru_rel_pos_const"] = at::zeros({4});
  source.write_weights();
  const std::string mismatch = message_of([&] { plugins.ready(source.options()); });
  for (const char* part : {"[weights/mismatch]", "rel_attn_embed", "gru_rel_pos_const"}) {
    CHECK_MESSAGE(has(mismatch, part), mismatch);
  }
}

TEST_CASE("configurations that would change the results are refused by their key") {
  EncoderPlugins plugins;
  EncoderFolder source("hf_hubert_large");
  const std::string config = read_text_of(source.folder / "config.json");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = config;
    REQUIRE(has(text, from));
    text.replace(text.find(from), from.size(), to);
    source.folder.write("config.json", text);
    return message_of([&] { plugins.create(source.options()); });
  };
  CHECK(has(with(R"("model_type": "hubert")", R"("model_type": "wavlm")"), "[weights/config]"));
  CHECK(has(with(R"("conv_pos_batch_norm": false)", R"("conv_pos_batch_norm": true)"),
            "conv_pos_batch_norm"));
  CHECK(has(with("{", R"({"add_adapter": true, )"), "add_adapter"));
  CHECK(has(with("{", R"({"relative_attention_bias": 3, )"), "relative_attention_bias"));
  CHECK(has(with(R"("num_conv_pos_embedding_groups": 2)", R"("num_conv_pos_embedding_groups": 3)"),
            "[encoder/sizes]"));
  CHECK(has(with(R"("hidden_act": "relu")", R"("hidden_act": "mish")"), "[encoder/sizes]"));
  CHECK(has(message_of([&] {
              plugins.create(tiny("hubert", true, R"(, "conv_bias": true, "layers": 3)"));
            }),
            "[config/unknown-key]"));
  std::string lists = tiny("wav2vec2", true);
  lists.replace(lists.find("[20, 5, 4]"), 10, "[20, 5]");
  CHECK(has(message_of([&] { plugins.create(lists); }), "conv_kernel must have one number"));
  source.folder.write("config.json", config);
  source.folder.write("preprocessor_config.json", R"({"padding_value": 1.0})");
  CHECK(has(message_of([&] { plugins.create(source.options()); }), "padding_value"));
}
