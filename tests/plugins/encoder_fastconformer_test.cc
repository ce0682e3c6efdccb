#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/places.h"
#include "common/temporary_folder.h"
#include "compare/reference_file.h"
#include "plugin/plugin_host.h"
#include "s2s/error.h"
#include "s2s/kinds/encoder.h"
#include "s2s/nn/weights.h"
#include "weights/safetensors.h"

// Shape letters: B batch, S samples, T frames, H width.

using namespace s2s;

namespace {

struct Host {
  PluginHost host{process_search_inputs({})};
  Registries registries;
  Host() { host.install(registries); }
};

Registries& registries() {
  static Host host;
  return host.registries;
}

std::unique_ptr<Encoder> make_encoder(Config node) {
  node["name"] = Config::scalar("fastconformer");
  BuildContext context;
  context.path = "model.encoder";
  return registries().create<Encoder>(node, context);
}

Config json(const std::string& text) { return parse_json(text, "test"); }

/// A tiny streaming encoder; `more` are further keys at the top level.
Config tiny(const std::string& more = "") {
  return json(R"({"preprocessor": {"features": 20},
    "encoder": {"feat_in": 20, "n_layers": 2, "d_model": 16, "subsampling_conv_channels": 12,
      "ff_expansion_factor": 2, "att_context_size": [6, 1], "dropout": 0.0,
      "dropout_pre_encoder": 0.0})" +
              more + "}");
}

Config with_subsampling(const std::string& name, int64_t factor) {
  Config node = tiny();
  node["encoder"]["subsampling"] = Config::scalar(name);
  node["encoder"]["subsampling_factor"] = Config::scalar(std::to_string(factor));
  return node;
}

std::string id_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.id();
  }
  return "no error";
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return a.numel() == 0 ? 0 : (a - b).abs().max().item<double>();
}

}  // namespace

TEST_CASE("fastconformer gives the reference's mel, features and lengths") {
  for (const char* name : {"nemo_fastconformer_full", "nemo_fastconformer_chunked_causal",
                           "nemo_fastconformer_look_aheads", "hf_parakeet",
                           "nemo_fastconformer_striding", "nemo_fastconformer_striding_causal",
                           "nemo_fastconformer_steps", "nemo_fastconformer_stacking",
                           "nemo_fastconformer_stacking_norm", "nemo_fastconformer_vggnet"}) {
    CAPTURE(name);
    const ReferenceFile file =
        read_reference(s2s::test::source_dir() + "/tests/reference/data/" + name + ".safetensors");
    const auto& component = registries().get<Encoder>("fastconformer");
    const Config options = component.translate(file.options);
    const auto encoder = make_encoder(options);
    encoder->materialize(at::kCPU, at::kFloat, 0);
    load_weights(*encoder, encoder->checkpoint_names(), file.weights, name);
    encoder->train(false);
    const at::Tensor audio = file.input("audio"), lengths = file.input("lengths");
    const EncoderOutput out = encoder->forward(audio, lengths);
    CHECK(at::equal(out.lengths_B, file.output("lengths")));
    if (file.output("mel").defined()) {
      CHECK(out.mel_BFT.sizes() == file.output("mel").sizes());
      CHECK(largest_difference(out.mel_BFT, file.output("mel")) < 1e-4);
    }
    const at::Tensor expected = file.output("features");
    REQUIRE(out.features_BTH.sizes() == expected.sizes());
    CHECK(encoder->output_width(audio.size(1)) == expected.size(1));
    for (int64_t row = 0; row < audio.size(0); ++row) {
      const int64_t valid = out.lengths_B[row].item<int64_t>();
      CHECK(encoder->output_frames(lengths[row].item<int64_t>()) == valid);
      CHECK(largest_difference(out.features_BTH[row].narrow(0, 0, valid),
                               expected[row].narrow(0, 0, valid)) < 1e-4);
    }
  }
}

TEST_CASE("fastconformer on live audio equals the whole file, whatever the pieces") {
  std::string subsampling;
  int64_t factor = 8;
  SUBCASE("dw_striding") { subsampling = "dw_striding"; }
  SUBCASE("striding") { subsampling = "striding"; }
  SUBCASE("stacking") { subsampling = "stacking"; }
  SUBCASE("stacking of three with a norm") {
    subsampling = "stacking_norm";
    factor = 3;
  }
  CAPTURE(subsampling);
  const auto encoder = make_encoder(with_subsampling(subsampling, factor));
  encoder->materialize(at::kCPU, at::kFloat, 3);
  encoder->train(false);
  CHECK(encoder->frame_rate_hz() == doctest::Approx(100.0 / static_cast<double>(factor)));
  at::manual_seed(8);
  for (const int64_t samples : {0, 1, 1279, 1280, 1281, 17777, 25600}) {
    CAPTURE(samples);
    const at::Tensor audio_BS = at::randn({2, samples}) * 0.1;
    const at::Tensor lengths_B = at::full({2}, samples, at::kLong);
    const int64_t frames = encoder->output_frames(samples);
    const at::Tensor offline =
        encoder->forward(audio_BS, lengths_B).features_BTH.narrow(1, 0, frames);
    const auto stream = encoder->open_stream(2);
    std::vector<at::Tensor> pieces;
    for (int64_t begin = 0; begin < samples;) {
      const int64_t drawn = at::randint(3001, {1}).item<int64_t>();
      const int64_t size = std::min<int64_t>(samples - begin, drawn);
      pieces.push_back(stream->push(audio_BS.narrow(1, begin, size)));
      begin += size;
    }
    pieces.push_back(stream->finish());
    const at::Tensor live = at::cat(pieces, 1);
    REQUIRE(live.sizes() == offline.sizes());
    CHECK(largest_difference(live, offline) < 1e-4);
  }
}

TEST_CASE("fastconformer names what prevents streaming") {
  const auto message = [](const Config& options) -> std::string {
    const auto encoder = make_encoder(options);
    encoder->materialize(at::kCPU, at::kFloat, 0);
    encoder->train(false);
    try {
      encoder->open_stream(1);
    } catch (const Error& error) {
      CHECK(error.id() == "encoder/not-streamable");
      return error.message();
    }
    return "streams";
  };
  CHECK(message(tiny()) == "streams");
  Config normalized = tiny();
  normalized["preprocessor"]["normalize"] = Config::scalar("per_feature");
  CHECK(message(normalized).find("model.encoder.preprocessor.normalize") != std::string::npos);
  Config symmetric = tiny();
  symmetric["encoder"]["causal_downsampling"] = Config::scalar("false");
  CHECK(message(symmetric).find("model.encoder.encoder.causal_downsampling") != std::string::npos);
  symmetric["encoder"]["subsampling"] = Config::scalar("striding");
  CHECK(message(symmetric).find("model.encoder.encoder.causal_downsampling") != std::string::npos);
  const std::string pooled = message(with_subsampling("vggnet", 4));
  CHECK(pooled.find("model.encoder.encoder.subsampling is vggnet") != std::string::npos);
}

TEST_CASE("a row's frames do not depend on its batch, whatever the subsampling") {
  for (const char* name : {"dw_striding", "striding", "stacking", "stacking_norm", "vggnet"}) {
    CAPTURE(name);
    const auto encoder = make_encoder(with_subsampling(name, 4));
    encoder->materialize(at::kCPU, at::kFloat, 3);
    encoder->train(false);
    at::manual_seed(9);
    const at::Tensor audio_BS = at::randn({4, 16000}) * 0.1;
    const at::Tensor lengths_B = at::tensor({16000, 9123, 480, 0}, at::kLong);
    const EncoderOutput all = encoder->forward(audio_BS, lengths_B);
    for (int64_t row = 0; row < 4; ++row) {
      const int64_t samples = lengths_B[row].item<int64_t>();
      const int64_t frames = encoder->output_frames(samples);
      CHECK(all.lengths_B[row].item<int64_t>() == frames);
      const EncoderOutput alone = encoder->forward(audio_BS.narrow(0, row, 1).narrow(1, 0, samples),
                                                   lengths_B.narrow(0, row, 1));
      CHECK(alone.lengths_B.item<int64_t>() == frames);
      CHECK(encoder->output_width(samples) == alone.features_BTH.size(1));
      REQUIRE(alone.features_BTH.size(1) >= frames);
      CHECK(largest_difference(all.features_BTH[row].narrow(0, 0, frames),
                               alone.features_BTH[0].narrow(0, 0, frames)) < 1e-4);
    }
  }
}

TEST_CASE("augmentation follows torch's generator, in training only") {
  const auto encoder = make_encoder(tiny(R"(, "spec_augment": {"freq_masks": 2, "freq_width": 5,
    "time_masks": 2, "time_width": 0.1}, "augment": {"gain_db": 8, "noise_snr_db": [5, 35],
    "warp": 0.12})"));
  encoder->materialize(at::kCPU, at::kFloat, 3);
  at::manual_seed(1);
  const at::Tensor audio_BS = at::randn({2, 16000}) * 0.1;
  const at::Tensor lengths_B = at::tensor({16000, 9000}, at::kLong);
  const auto mel_with_seed = [&](uint64_t seed) {
    at::manual_seed(seed);
    return encoder->forward(audio_BS, lengths_B).mel_BFT;
  };
  encoder->train(true);
  const at::Tensor first = mel_with_seed(5);
  CHECK(at::isfinite(first).all().item<bool>());
  CHECK(at::equal(first, mel_with_seed(5)));
  CHECK(largest_difference(first, mel_with_seed(6)) > 0.1);
  CHECK(first[1].narrow(1, 56, first.size(2) - 56).abs().max().item<double>() == 0);
  encoder->train(false);
  CHECK(at::equal(mel_with_seed(5), mel_with_seed(6)));
}

TEST_CASE("SpecAugment masks whole bands and whole stretches, no wider and no more than asked") {
  const auto masked_mel = [](const std::string& options, bool training) {
    const auto encoder = make_encoder(tiny(R"(, "spec_augment": {)" + options + "}"));
    encoder->materialize(at::kCPU, at::kFloat, 3);
    encoder->train(training);
    at::manual_seed(4);
    const at::Tensor audio_BS = at::randn({8, 16000}) * 0.1;
    return encoder->forward(audio_BS, at::full({8}, 16000, at::kLong)).mel_BFT.slice(2, 0, 100);
  };
  /// Per row, the bands (dim 2) or frames (dim 1) that are zero from end to end.
  const auto whole = [](const at::Tensor& mel_BFT, int64_t dim) {
    return mel_BFT.eq(0).all(dim).sum(1);
  };
  const at::Tensor plain = masked_mel("", true);
  REQUIRE(plain.eq(0).sum().item<int64_t>() == 0);
  const at::Tensor bands = masked_mel(R"("freq_masks": 2, "freq_width": 5)", true);
  CHECK(bands.eq(0).logical_or(bands.eq(plain)).all().item<bool>());
  CHECK(whole(bands, 2).max().item<int64_t>() <= 2 * 5);
  CHECK(whole(bands, 2).max().item<int64_t>() > 1);
  CHECK(whole(bands, 2).sum().item<int64_t>() * 100 == bands.eq(0).sum().item<int64_t>());
  for (const char* width : {"10", "0.1"}) {  // ten frames, or a tenth of a hundred
    const at::Tensor times =
        masked_mel(R"("time_masks": 2, "time_width": ")" + std::string(width) + "\"", true);
    CHECK(times.eq(0).logical_or(times.eq(plain)).all().item<bool>());
    CHECK(whole(times, 1).max().item<int64_t>() <= 2 * 10);
    CHECK(whole(times, 1).max().item<int64_t>() > 1);
    CHECK(whole(times, 1).sum().item<int64_t>() * 20 == times.eq(0).sum().item<int64_t>());
  }
  CHECK(masked_mel(R"("freq_masks": 9, "time_masks": 9)", false).equal(plain));
}

TEST_CASE("gradients reach every parameter") {
  std::string subsampling;
  SUBCASE("dw_striding") { subsampling = "dw_striding"; }
  SUBCASE("striding") { subsampling = "striding"; }
  SUBCASE("stacking_norm") { subsampling = "stacking_norm"; }
  SUBCASE("vggnet") { subsampling = "vggnet"; }
  const auto encoder = make_encoder(with_subsampling(subsampling, 4));
  encoder->materialize(at::kCPU, at::kFloat, 3);
  at::manual_seed(2);
  const EncoderOutput out =
      encoder->forward(at::randn({2, 16000}) * 0.1, at::tensor({16000, 12000}, at::kLong));
  (out.features_BTH * at::randn_like(out.features_BTH)).sum().backward();
  for (const NamedTensor& parameter : encoder->named_parameters()) {
    CAPTURE(parameter.name);
    REQUIRE(parameter.tensor->grad().defined());
    CHECK(at::isfinite(parameter.tensor->grad()).all().item<bool>());
  }
}

TEST_CASE("fastconformer reads its weights from a path") {
  const auto source = make_encoder(tiny());
  source->materialize(at::kCPU, at::kFloat, 3);
  const test::TemporaryFolder folder;
  const std::string path = folder / "encoder.safetensors";
  write_safetensors(path, export_weights(*source, source->checkpoint_names()));
  const auto copy = make_encoder(tiny(R"(, "path": ")" + path + R"(")"));
  copy->materialize(at::kCPU, at::kFloat, 4);
  const auto ours = source->named_parameters(), theirs = copy->named_parameters();
  REQUIRE(ours.size() == theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) CHECK(at::equal(*ours[i].tensor, *theirs[i].tensor));
}

TEST_CASE("fastconformer refuses options that do not fit") {
  CHECK(id_of([] {
          Config node = tiny();
          node["encoder"]["feat_in"] = Config::scalar("21");
          make_encoder(node);
        }) == "encoder/bands");
  CHECK(id_of([] { make_encoder(with_subsampling("striding_conv1d", 4)); }) ==
        "encoder/unsupported");
  CHECK(id_of([] { make_encoder(with_subsampling("striding", 6)); }) == "encoder/value");
  CHECK(id_of([] { make_encoder(tiny(R"(, "augment": {"noise_snr_db": [5]})")); }) ==
        "encoder/augment");
  CHECK(id_of([] { make_encoder(tiny(R"(, "spec_augment": {"time_width": "1.5"})")); }) ==
        "encoder/augment");
  CHECK(id_of([] { make_encoder(tiny(R"(, "spec_augment": {"freq_width": 21})")); }) ==
        "encoder/augment");
  // The default width is for more bands than these; nobody wrote it.
  CHECK(id_of([] {
          Config node = tiny();
          node["preprocessor"]["features"] = Config::scalar("8");
          node["encoder"]["feat_in"] = Config::scalar("8");
          make_encoder(node);
        }) == "no error");
  CHECK(id_of([] {
          make_encoder(tiny(R"(, "path": "nowhere")"))->materialize(at::kCPU, at::kFloat, 0);
        }) == "weights/unreadable");
  const auto& component = registries().get<Encoder>("fastconformer");
  const auto translating = [&](const std::string& text) {
    return id_of([&] { component.translate(json(text)); });
  };
  CHECK(translating(R"({"model_type": "wav2vec2"})") == "weights/config");
  CHECK(translating(R"({"model_type": "parakeet_encoder", "hidden_act": "relu"})") ==
        "weights/config");
  CHECK(translating(R"({"preprocessor": {}, "encoder": {}, "spec_augment": {"rect_masks": 2}})") ==
        "weights/config");
}
