// FastConformer in transformers' folders, and with the inputs of reference files.

#include <fstream>

#include "plugins/encoder_fixture.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/nemo_archive.h"

using namespace s2s;
using namespace s2s::test;

namespace {

EncoderPlugins& plugins() {
  static EncoderPlugins built;
  return built;
}

/// `options`: the keys, without braces.
std::unique_ptr<Encoder> made(const std::string& options) {
  return plugins().ready(R"({"name": "fastconformer", )" + options + "}");
}

/// A tiny streaming encoder with that subsampling by 4.
std::unique_ptr<Encoder> tiny(const std::string& subsampling) {
  return made(R"("preprocessor": {"features": 20},
    "encoder": {"feat_in": 20, "n_layers": 2, "d_model": 16, "subsampling_conv_channels": 12,
      "ff_expansion_factor": 2, "att_context_size": [6, 1], "subsampling_factor": 4,
      "subsampling": ")" +
              subsampling + "\"}");
}

void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

/// The sizes of the reference files, as config.json has them.
constexpr const char* kSizes =
    R"("hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2,
    "num_mel_bins": 40, "subsampling_conv_channels": 12)";

}  // namespace

TEST_CASE("fastconformer reads folders of transformers' encoders and of their models") {
  std::string reference, config;
  bool is_alone = false;
  const std::string parakeet = R"({"model_type": "parakeet_encoder", "num_attention_heads": 4, )" +
                               std::string(kSizes) + "}";
  SUBCASE("ParakeetEncoder") {
    reference = "hf_parakeet";
    config = parakeet;
    is_alone = true;
  }
  SUBCASE("ParakeetForCTC") {
    reference = "hf_parakeet";
    config = R"({"model_type": "parakeet_ctc", "encoder_config": )" + parakeet + "}";
  }
  SUBCASE("NemotronAsrStreamingEncoder") {
    reference = "hf_nemotron_streaming";
    config = R"({"model_type": "nemotron_asr_streaming_encoder", "num_attention_heads": 2,
        "sliding_window": 5, "default_num_lookahead_tokens": 1, )" +
             std::string(kSizes) + "}";
    is_alone = true;
  }
  const ReferenceFile file =
      read_reference(source_dir() + "/tests/reference/data/" + reference + ".safetensors");
  const TemporaryFolder folder;
  TensorMap weights;
  for (const auto& [name, tensor] : file.weights) {
    weights[is_alone ? name.substr(std::string("encoder.").size()) : name] = tensor;
  }
  write_safetensors(folder / "model.safetensors", weights);
  write_text(folder / "config.json", config);
  write_text(folder / "preprocessor_config.json", R"({"feature_size": 40, "preemphasis": 0.97})");
  const std::string path = R"("path": ")" + (folder / "") + R"(")";
  const auto encoder = made(path);
  const EncoderOutput out = encoder->forward(file.input("audio"), file.input("lengths"));
  const int64_t frames = out.lengths_B[0].item<int64_t>();
  CHECK(frames == file.output("lengths")[0].item<int64_t>());
  CHECK(distance(out.features_BTH[0].narrow(0, 0, frames),
                 file.output("features")[0].narrow(0, 0, frames)) < 1e-4);
  // Keys of the configuration win one by one.
  if (reference == "hf_parakeet") {
    const auto local = made(path + R"(, "encoder": {"self_attention_model": "rel_pos_local_attn",
        "att_context_size": [128, 128]})");
    const EncoderOutput heard = local->forward(file.input("audio"), file.input("lengths"));
    CHECK(distance(heard.features_BTH[0].narrow(0, 0, frames),
                   out.features_BTH[0].narrow(0, 0, frames)) < 1e-4);
  }
  const auto wide = plugins().create(R"({"name": "fastconformer", )" + path +
                                     R"(, "encoder": {"feat_out": 24}})");
  CHECK(wide->output_dim() == 24);
  CHECK(has(message_of([&] { made(path + R"(, "preprocessor": {"features": 41})"); }),
            "[encoder/bands]"));
  write_text(folder / "preprocessor_config.json", R"({"mel_filters_dtype": "bfloat16"})");
  CHECK(has(message_of([&] { made(path); }), "[weights/config]"));
  write_text(folder / "config.json", R"({"model_type": "whisper"})");
  CHECK(has(message_of([&] { made(path); }), "[weights/config]"));
}

TEST_CASE("the weights of an archive run with another attention") {
  const std::string archive = source_dir() + "/tests/reference/data/recognizer.nemo";
  const auto features = [&](const std::string& keys) {
    Registries& registries = plugins().registries();
    // The path gives the weights only.
    Config node = registries.get<Encoder>("fastconformer").translate(read_nemo_config(archive));
    const Config changes = parse_json("{" + keys + "}", "changes");
    for (const auto& [key, value] : changes.entries()) node["encoder"][key] = value;
    node["name"] = Config::scalar("fastconformer");
    node["path"] = Config::scalar(archive, true);
    const auto encoder = registries.create<Encoder>(node, {.path = "model.encoder"});
    encoder->materialize(at::kCPU, at::kFloat, 1);
    encoder->train(false);
    at::manual_seed(4);
    const at::Tensor audio = at::randn({2, 16000}) * 0.1;
    return encoder->forward(audio, at::tensor({16000, 9000}, at::kLong)).features_BTH;
  };
  const std::string local = R"("self_attention_model": "rel_pos_local_attn", )";
  const at::Tensor whole = features("");
  CHECK(distance(whole, features(local + R"("att_context_size": [128, 128])")) < 1e-4);
  const at::Tensor narrow = features(R"("att_context_size": [2, 2])");
  CHECK(distance(narrow, features(local + R"("att_context_size": [2, 2])")) < 1e-4);
  CHECK(distance(whole, narrow) > 1e-2);
  CHECK(distance(whole, features(R"("self_attention_model": "abs_pos")")) > 1e-2);
  CHECK(has(message_of([&] { features(R"("self_attention_model": "rel_pos_local_attn")"); }),
            "[encoder/value]"));
}

TEST_CASE("reference files may give fastconformer a mel, whole or live") {
  const auto encoder = tiny("dw_striding");
  at::manual_seed(6);
  const TensorMap audio{{"audio", at::randn({2, 16000}) * 0.1},
                        {"lengths", at::tensor({15000, 16000}, at::kLong)}};
  auto& runs = dynamic_cast<RunsReferences&>(*encoder);
  TensorMap heard = runs.reference_outputs(audio, false);
  TensorMap seen =
      runs.reference_outputs({{"mel", heard["mel"]}, {"mel_lengths", heard["mel_lengths"]}}, false);
  for (const char* name : {"features", "lengths"}) CHECK(at::equal(heard[name], seen[name]));
  const int64_t frames = heard["lengths"][0].item<int64_t>();
  for (TensorMap* outputs : {&heard, &seen}) {
    const at::Tensor live = outputs->at("stream");
    REQUIRE(live.sizes() == at::IntArrayRef({1, frames, 16}));
    CHECK(distance(live[0], heard["features"][0].narrow(0, 0, frames)) < 1e-4);
  }
  const auto offline = tiny("vggnet");
  auto& no_stream = dynamic_cast<RunsReferences&>(*offline);
  CHECK_FALSE(no_stream.reference_outputs(audio, false).contains("stream"));
}
