// The audio towers of Qwen2-Audio and Qwen3-Omni: windows, outputs of layers, folders. Values are
// compared with transformers' by tests/reference.

#include "plugins/encoder_fixture.h"

// Shape letters: B batch, S samples, T frames, H width.

using namespace s2s;
using namespace s2s::test;

namespace {

constexpr const char* kSizes = R"("num_mel_bins": 12, "d_model": 16, "encoder_layers": 3,
    "encoder_attention_heads": 4, "encoder_ffn_dim": 24)";
/// Windows of a second, 25 frames.
const std::string kQwen2 =
    std::string(R"({"name": "qwen2_audio", "max_source_positions": 50, )") + kSizes + "}";
/// Frames of two seconds, 26, attend to each other.
std::string omni(int64_t output_dim = 16) {
  return R"({"name": "qwen3_omni_audio", "n_window_infer": 200, "downsample_hidden_size": 6,
    "output_dim": )" +
         std::to_string(output_dim) + ", " + kSizes + "}";
}

int64_t halved(int64_t n) { return (n + 1) / 2; }

}  // namespace

TEST_CASE("the audio towers of Qwen give transformers' mel, features and lengths") {
  EncoderPlugins plugins;
  check_reference(plugins, "hf_qwen2_audio");
  check_reference(plugins, "hf_qwen3_omni_audio");
  const ReferenceFile file = read_reference(reference_place("hf_qwen3_omni_audio_short"));
  const CompareSettings settings;
  for (const TensorDifference& row : compare_reference({file, settings, plugins.registries()})) {
    CHECK_MESSAGE(row.pass, row.name << " " << row.largest_absolute << " " << row.note);
  }
  ReferenceFile half = read_reference(reference_place("hf_qwen2_audio"));
  half.inputs["mel"] = at::zeros({2, 12, 50});
  half.inputs["mel_lengths"] = at::tensor({50, 20}, at::kLong);
  const std::string message = message_of([&] {
    compare_reference({half, settings, plugins.registries()});
  });
  CHECK(has(message, "[encoder/window] qwen2_audio was given 50 mel frames"));
}

TEST_CASE("the towers keep the promises of an encoder") {
  EncoderPlugins plugins;
  check_promises(*plugins.ready(kQwen2));
  check_promises(*plugins.ready(omni(12)));
}

TEST_CASE("windows of Qwen2-Audio are encoded by themselves, and their frames are joined") {
  EncoderPlugins plugins;
  const auto encoder = plugins.ready(kQwen2);
  at::manual_seed(8);
  const int64_t samples = 2 * 16000 + 4001;
  const at::Tensor audio_BS = at::randn({1, samples}) * 0.1;
  std::vector<at::Tensor> windows;
  for (int64_t begin = 0; begin < samples; begin += 16000) {
    windows.push_back(features_of(*encoder, audio_BS.slice(1, begin, begin + 16000)));
  }
  CHECK(distance(features_of(*encoder, audio_BS), at::cat(windows, 1)) < 1e-5);
  for (const int64_t n : {0, 1, 160, 161, 480, 481, 640, 641, 15999, 16000, 16001, 16481}) {
    CAPTURE(n);
    CHECK(encoder->output_frames(n) == n / 16000 * 25 + halved((n % 16000 + 159) / 160) / 2);
    const at::Tensor features = features_of(*encoder, at::randn({2, n}));
    CHECK(features.size(1) == encoder->output_width(n));
    CHECK(at::isfinite(features).all().item<bool>());
  }
  CHECK(encoder->frame_rate_hz() == 25);
}

TEST_CASE("Qwen3-Omni counts the frames of any number of samples") {
  EncoderPlugins plugins;
  const auto encoder = plugins.ready(omni());
  for (const int64_t n : {0, 1, 160, 161, 1000, 15999, 16000, 16001, 32000, 50001, 70000}) {
    CAPTURE(n);
    const int64_t mel = (n + 159) / 160;
    CHECK(encoder->output_frames(n) == mel / 100 * 13 + halved(halved(halved(mel % 100))));
    const at::Tensor features = features_of(*encoder, at::randn({2, n}));
    CHECK(features.size(1) == encoder->output_width(n));
    CHECK(at::isfinite(features).all().item<bool>());
  }
  CHECK(encoder->frame_rate_hz() == 13);
}

TEST_CASE("frames of Qwen3-Omni do not see other blocks, and padding changes no row") {
  EncoderPlugins plugins;
  const auto encoder = plugins.ready(omni());
  at::manual_seed(8);
  const at::Tensor audio_BS = at::randn({2, 80000}) * 0.1;
  const EncoderOutput both = encoder->forward(audio_BS, at::tensor({80000, 40000}, at::kLong));
  const at::Tensor alone = features_of(*encoder, audio_BS.slice(0, 1).slice(1, 0, 40000));
  const int64_t frames = both.lengths_B[1].item<int64_t>();
  CHECK(frames == alone.size(1));
  // The last mel frames of a whole recording mirror its end, those of a padded one see zeros.
  CHECK(distance(both.features_BTH.slice(0, 1).slice(1, 0, 26), alone.slice(1, 0, 26)) < 1e-4);
  at::Tensor other_BS = audio_BS.clone();
  other_BS.slice(1, 64400).mul_(0.5);
  const at::Tensor changed = features_of(*encoder, other_BS);
  const at::Tensor before = features_of(*encoder, audio_BS);
  CHECK(distance(before.slice(1, 0, 52), changed.slice(1, 0, 52)) < 1e-4);
  CHECK(distance(before.slice(1, 52), changed.slice(1, 52)) > 1e-3);
}

TEST_CASE("outputs of layers are at the rate of the frames") {
  EncoderPlugins plugins;
  at::manual_seed(8);
  const at::Tensor audio_BS = at::randn({2, 20000}) * 0.1;
  for (const std::string& options : {kQwen2, omni()}) {
    const auto outputs = [&](const std::vector<int64_t>& layers, bool last) {
      const auto encoder = plugins.ready(options);
      encoder->select_outputs(layers, last);
      const at::Tensor features = features_of(*encoder, audio_BS);
      CHECK(features.size(2) == encoder->output_dim());
      CHECK(features.size(1) == encoder->output_frames(20000));
      return features;
    };
    const at::Tensor all = outputs({0, -1}, true);
    CHECK(distance(all.slice(2, 0, 16), outputs({0}, false)) < 1e-6);
    CHECK(distance(all.slice(2, 32), features_of(*plugins.ready(options), audio_BS)) < 1e-6);
  }
  CHECK(has(message_of([&] { plugins.create(omni(12))->select_outputs({0}, true); }),
            "[encoder/layers] model.encoder: outputs of layers have the width 16"));
  CHECK(has(message_of([&] { plugins.ready(omni())->open_stream(1); }),
            "[encoder/not-streamable] model.encoder: qwen3_omni_audio"));
}

TEST_CASE("the default sizes are the published ones, and plans hold") {
  EncoderPlugins plugins;
  const auto qwen2 = plugins.create(R"({"name": "qwen2_audio"})");
  CHECK(count_parameters(*qwen2) == 635048960);  // without the table of positions
  const auto qwen3 = plugins.create(R"({"name": "qwen3_omni_audio"})");
  CHECK(count_parameters(*qwen3) == 649894784);
  for (const int64_t tensor : {1, 2, 4, 3}) {
    CHECK(plan_holds(*qwen2, tensor));
    CHECK(plan_holds(*qwen3, tensor));
  }
}

TEST_CASE("towers are read from their model's folder, beside images and language models") {
  EncoderPlugins plugins;
  EncoderFolder source("hf_qwen3_omni_audio");
  source.folder.write("preprocessor_config.json",
                      R"({"feature_size": 12, "image_mean": [0.5], "min_pixels": 3136,
                          "patch_size": 14, "do_resize": true, "temporal_patch_size": 2,
                          "merge_size": 2, "hop_length": 160, "dither": 0.0,
                          "image_processor_type": "Qwen2VLImageProcessor"})");
  for (const char* other : {"thinker.model.norm.weight", "thinker.visual.a.b", "talker.x.y",
                            "code2wav.z", "thinker.lm_head.weight"}) {
    source.weights[other] = at::zeros({2});
  }
  source.write_weights();
  const auto encoder = plugins.ready(source.options());
  const ReferenceFile& file = source.file();
  const EncoderOutput out = encoder->forward(file.input("audio"), file.input("lengths"));
  CHECK(distance(out.features_BTH[0], file.output("features")[0]) < 1e-4);
  const std::string config = read_text_of(source.folder / "config.json");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = config;
    REQUIRE(has(text, from));
    text.replace(text.find(from), from.size(), to);
    source.folder.write("config.json", text);
    return message_of([&] { plugins.create(source.options()); });
  };
  CHECK(
      has(with(R"("n_window": 50)", R"("n_window": 40)"), "thinker_config.audio_config.n_window"));
  CHECK(has(with("qwen3_omni_moe_audio_encoder", "qwen2_audio_encoder"), "[weights/config]"));
  CHECK(has(with(R"("d_model": 16)", R"("d_model": 18)"), "[encoder/sizes]"));
  CHECK(has(with(R"("num_mel_bins": 12)", R"("num_mel_bins": 14)"), "feature_size"));
}
