// Whisper's encoder: windows, outputs of layers, folders that do not fit. Values are compared with
// transformers' by tests/reference.

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "plugins/duplex_s2s/duplex_fixture.h"
#include "plugins/encoder_fixture.h"

// Shape letters: B batch, S samples, T frames, H width.

using namespace s2s;
using namespace s2s::test;

namespace {

/// Windows of a second, 50 frames.
constexpr const char* kTiny = R"({"name": "whisper", "num_mel_bins": 12, "d_model": 16,
    "encoder_layers": 3, "encoder_attention_heads": 4, "encoder_ffn_dim": 24,
    "max_source_positions": 50})";
constexpr int64_t kWindow = 16000;

std::string tiny_with(const std::string& keys) {
  std::string text = kTiny;
  return text.substr(0, text.size() - 1) + ", " + keys + "}";
}

}  // namespace

TEST_CASE("whisper gives transformers' mel, features and lengths") {
  EncoderPlugins plugins;
  for (const char* name : {"hf_whisper_one_window", "hf_whisper_windows", "hf_whisper_mel"}) {
    check_reference(plugins, name);
  }
  ReferenceFile half = read_reference(reference_place("hf_whisper_mel"));
  half.inputs["mel"] = half.inputs["mel"].slice(2, 0, 50);
  const CompareSettings settings;
  const std::string message = message_of([&] {
    compare_reference({half, settings, plugins.registries()});
  });
  CHECK(has(message, "[encoder/window] whisper was given 50 mel frames"));
}

TEST_CASE("whisper keeps the promises of an encoder") {
  EncoderPlugins plugins;
  check_promises(*plugins.ready(kTiny));
}

TEST_CASE("each window of a recording is encoded by itself, and its frames are joined") {
  EncoderPlugins plugins;
  const auto encoder = plugins.ready(kTiny);
  at::manual_seed(8);
  const int64_t samples = 2 * kWindow + 4001;
  const at::Tensor audio_BS = at::randn({1, samples}) * 0.1;
  const EncoderOutput whole = encoder->forward(audio_BS, at::tensor({samples}, at::kLong));
  CHECK(whole.mel_BFT.sizes() == at::IntArrayRef({1, 12, 300}));
  CHECK(whole.lengths_B.item<int64_t>() == 100 + 13);
  std::vector<at::Tensor> windows;
  for (int64_t begin = 0; begin < samples; begin += kWindow) {
    windows.push_back(features_of(*encoder, audio_BS.slice(1, begin, begin + kWindow)));
  }
  CHECK(distance(whole.features_BTH, at::cat(windows, 1)) < 1e-5);
  for (const int64_t n : {0, 1, 160, 161, 320, 321, 15999, 16000, 16001}) {
    CAPTURE(n);
    CHECK(encoder->output_frames(n) == (n + 319) / 320);
    CHECK(features_of(*encoder, at::zeros({2, n})).size(1) == encoder->output_width(n));
  }
  CHECK(encoder->frame_rate_hz() == 50);
}

TEST_CASE("what is behind a row's length does not count") {
  EncoderPlugins plugins;
  const auto encoder = plugins.ready(kTiny);
  at::manual_seed(8);
  const at::Tensor audio_BS = at::randn({2, 20000}) * 0.1;
  const EncoderOutput both = encoder->forward(audio_BS, at::tensor({20000, 7000}, at::kLong));
  const at::Tensor alone = features_of(*encoder, audio_BS.slice(0, 1).slice(1, 0, 7000));
  CHECK(distance(both.features_BTH.slice(0, 1).slice(1, 0, 22), alone) < 1e-5);
}

TEST_CASE("outputs of whisper's layers are side by side, before the last norm") {
  EncoderPlugins plugins;
  at::manual_seed(8);
  const at::Tensor audio_BS = at::randn({2, 5000}) * 0.1;
  const auto outputs = [&](const std::vector<int64_t>& layers, bool last) {
    const auto encoder = plugins.ready(kTiny);
    encoder->select_outputs(layers, last);
    const at::Tensor features = features_of(*encoder, audio_BS);
    CHECK(features.size(2) == encoder->output_dim());
    return features;
  };
  const at::Tensor all = outputs({0, 2}, true);
  CHECK(all.sizes() == at::IntArrayRef({2, 16, 48}));
  CHECK(distance(all.slice(2, 0, 16), outputs({0}, false)) < 1e-6);
  CHECK(distance(all.slice(2, 16, 32), outputs({-1}, false)) < 1e-6);
  CHECK(distance(all.slice(2, 32), features_of(*plugins.ready(kTiny), audio_BS)) < 1e-6);
  const at::Tensor last = all.slice(2, 16, 32);
  CHECK(distance(at::layer_norm(last, {16}), all.slice(2, 32)) < 1e-5);
  const auto id = [&](const std::vector<int64_t>& layers, bool final_output) {
    return message_of([&] { plugins.create(kTiny)->select_outputs(layers, final_output); });
  };
  CHECK(has(id({3}, true), "[encoder/layers]"));
  CHECK(has(id({2, -1}, true), "[encoder/layers]"));
  CHECK(has(id({}, false), "[encoder/layers]"));
  const auto first = plugins.create(kTiny);
  first->select_outputs({0}, false);
  const double of_first = first->forward_flops(1, 5000);
  CHECK(of_first < 0.5 * plugins.create(kTiny)->forward_flops(1, 5000));
}

TEST_CASE("whisper cannot listen live, and says what can") {
  EncoderPlugins plugins;
  const std::string message = message_of([&] { plugins.ready(kTiny)->open_stream(1); });
  CHECK(has(message, "[encoder/not-streamable] model.encoder: whisper"));
  CHECK(has(message, "chunked_limited"));
}

TEST_CASE("presets have the parameters of the published encoders, and their plans hold") {
  EncoderPlugins plugins;
  // WhisperEncoder's, without the table of positions, which is not trained.
  const std::vector<std::pair<std::string, int64_t>> kPublished = {
      {"whisper_tiny", 7632384},       {"whisper_base", 19822592},
      {"whisper_small", 87002112},     {"whisper_medium", 305680384},
      {"whisper_large_v2", 634864640}, {"whisper_large_v3", 635048960}};
  for (const auto& [preset, parameters] : kPublished) {
    CAPTURE(preset);
    const auto encoder = plugins.create(R"({"name": "whisper", "preset": ")" + preset + R"("})");
    CHECK(count_parameters(*encoder) == parameters);
    for (const int64_t tensor : {1, 2, 4, 7}) CHECK(plan_holds(*encoder, tensor));
  }
  const auto tiny = plugins.create(R"({"name": "whisper", "preset": "whisper_tiny"})");
  MeshShape mesh;
  mesh.tensor = 2;
  CHECK(tiny->configure_model(mesh).rows.size() > 6);  // split
  mesh.tensor = 4;                                     // does not divide six heads
  CHECK(tiny->configure_model(mesh).rows.size() == 3);
}

TEST_CASE("whisper reads a folder of any of its classes, whose decoder is not read") {
  EncoderPlugins plugins;
  EncoderFolder source("hf_whisper_one_window");
  const TensorMap named = source.weights;
  for (const char* prefix : {"model.encoder.", "encoder.", ""}) {
    CAPTURE(prefix);
    source.weights.clear();
    const std::string old = "model.encoder.";
    for (const auto& [name, tensor] : named) {
      source.weights[prefix + name.substr(old.size())] = tensor;
    }
    const std::string decoder = std::string(prefix).starts_with("model.") ? "model." : "";
    source.weights[decoder + "decoder.layers.0.fc1.weight"] = at::zeros({3, 2});
    source.weights["proj_out.weight"] = at::zeros({3, 2});
    source.write_weights();
    const auto encoder = plugins.ready(source.options());
    const ReferenceFile& file = source.file();
    const EncoderOutput out = encoder->forward(file.input("audio"), file.input("lengths"));
    CHECK(distance(out.features_BTH.slice(0, 0, 1), file.output("features").slice(0, 0, 1)) < 1e-4);
  }
  CHECK(plugins.warnings.empty());
  // A file of weights alone gives no sizes.
  const std::string file = source.folder / "model.safetensors";
  const auto of_file = plugins.ready(R"({"name": "whisper", "path": ")" + file +
                                     R"(", "num_mel_bins": 12, "d_model": 16,
          "encoder_layers": 2, "encoder_attention_heads": 4, "encoder_ffn_dim": 24,
          "max_source_positions": 50})");
  CHECK(distance(features_of(*of_file, at::ones({1, 4000})),
                 features_of(*plugins.ready(source.options()), at::ones({1, 4000}))) == 0);
  const auto more = plugins.create(source.options(R"(, "encoder_layers": 1)"));
  CHECK(has(message_of([&] { more->materialize(at::kCPU, at::kFloat, 0); }), "[weights/mismatch]"));
}

TEST_CASE("whisper refuses files that do not fit, with one message") {
  EncoderPlugins plugins;
  EncoderFolder source("hf_whisper_one_window");
  const std::string config = read_text_of(source.folder / "config.json");
  const std::string front_end = read_text_of(source.folder / "preprocessor_config.json");
  const auto with = [&](const char* file, const std::string& from, const std::string& to) {
    std::string text = file == std::string("config.json") ? config : front_end;
    REQUIRE(has(text, from));
    text.replace(text.find(from), from.size(), to);
    source.folder.write(file, text);
    const std::string message = message_of([&] { plugins.create(source.options()); });
    source.folder.write("config.json", config);
    source.folder.write("preprocessor_config.json", front_end);
    return message;
  };
  const std::string type = R"("model_type": "whisper")";
  CHECK(has(with("config.json", type, R"("model_type": "wav2vec2")"), "[weights/config]"));
  CHECK(has(with("config.json", type, type + R"(, "rope_theta": 10000.0)"), "rope_theta"));
  CHECK(has(with("config.json", R"("d_model": 16)", R"("d_model": 18)"), "[encoder/sizes]"));
  CHECK(has(with("config.json", R"("gelu")", R"("mish")"), "activation_function 'mish'"));
  CHECK(has(with("config.json", R"("d_model": 16)", R"("d_model": "x")"), "[config/type]"));
  CHECK(has(with("config.json", "{", "["), "[weights/json]"));
  CHECK(has(with("preprocessor_config.json", R"("feature_size": 12)", R"("feature_size": 80)"),
            "12, the num_mel_bins of config.json"));
  CHECK(with("preprocessor_config.json", R"("chunk_length": 1)", R"("chunk_length": 30)") ==
        "no error");  // a model for shorter windows
  CHECK(has(with("preprocessor_config.json", R"("dither": 0.0)", R"("dither": 0.1)"), "dither"));
  // A key that no class of the family has, and a value that the configuration changes.
  CHECK(with("config.json", type, type + R"(, "favorite_color": "red")") == "no error");
  REQUIRE(plugins.warnings.size() == 1);
  CHECK(has(plugins.warnings[0], "favorite_color"));
  plugins.create(source.options(R"(, "dropout": 0.5)"));
  CHECK(has(plugins.warnings.back(), "model.encoder.dropout: 0.5"));
  const auto loading = [&] { return message_of([&] { plugins.ready(source.options()); }); };
  CHECK(has(loading(), "[weights/unreadable]"));  // there are no weights yet
  const TensorMap good = source.weights;
  source.weights.erase("model.encoder.conv1.bias");
  source.weights["model.encoder.conv2.weight"] = at::zeros({16, 16, 5});
  source.weights["model.encoder.layers.7.fc1.bias"] = at::zeros({24});
  source.write_weights();
  const std::string mismatch = loading();
  for (const char* part : {"[weights/mismatch]", "conv1.bias", "conv2.weight", "layers.7"}) {
    CHECK_MESSAGE(has(mismatch, part), mismatch);
  }
  source.weights = good;
  source.write_weights();
  CHECK(loading() == "no error");
  const std::string bytes = read_text_of(source.folder / "model.safetensors");
  source.folder.write("model.safetensors", bytes.substr(0, bytes.size() - 40));
  CHECK(has(loading(), "[weights/format]"));
  std::filesystem::remove(source.folder / "model.safetensors");
  std::filesystem::copy(source_dir() + "/tests/reference/data/torch_hostile_system.bin",
                        source.folder / "pytorch_model.bin");
  CHECK(has(loading(), "[weights/refused]"));
  CHECK(has(message_of([&] { plugins.create(tiny_with(R"("preset": "whisper_giant")")); }),
            "[config/"));
}

TEST_CASE("a duplex model trains with whisper, four frames of which are one of its own") {
  EncoderFolder source("hf_whisper_one_window");
  source.write_weights();
  DuplexFixture f;
  f.plugins.registries().get<Encoder>("whisper");
  std::string text = std::string("{") + kParts + ", " + kCodes + "}";
  text.replace(text.find("TIED"), 4, "false");
  Config node = parse_json(text, "test.json");
  node["encoder"] = parse_json(source.options(), "test.json");
  node["modality_adapter"] =
      parse_json(R"({"type": "frame_stacking", "frame_stacking": {"factor": 4}})", "test.json");
  ModelContext context;
  context.path = "model";
  context.data = &f.data;
  context.tokenizer = &f.tokenizer;
  const auto model = f.plugins.create<Model>(node, context);
  model->materialize(at::kCPU, at::kFloat, 3);
  model->train(true);
  const Batch batch = make_batch({14, 9});
  const LossTerms before = model->training_loss(batch, {});
  before.total.backward();
  int64_t learning = 0;
  {
    const at::NoGradGuard no_grad;
    for (const NamedTensor& parameter : model->named_parameters()) {
      const at::Tensor& grad = parameter.tensor->grad();
      if (!grad.defined()) continue;
      const bool is_encoder = has(parameter.name, "encoder.layers.0.");
      learning += is_encoder && grad.abs().max().item<double>() > 0 ? 1 : 0;
      parameter.tensor->sub_(grad * 1e-3);
    }
  }
  CHECK(learning == 15);
  CHECK(model->training_loss(batch, {}).total.item<double>() < before.total.item<double>());
}
