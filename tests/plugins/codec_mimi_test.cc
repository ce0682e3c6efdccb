// The codec mimi: its parts against the whole, and our own rules. tests/reference compares results
// with transformers.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/places.h"
#include "common/temporary_folder.h"
#include "compare/reference_file.h"
#include "plugins/built_plugins.h"
#include "s2s/conformance.h"
#include "s2s/error.h"
#include "s2s/kinds/codec.h"
#include "s2s/kinds/encoder.h"
#include "s2s/nn/grouped_codec.h"
#include "s2s/nn/weights.h"
#include "weights/safetensors.h"

// Shape letters: B batch, S samples, K codebooks, T frames.

using namespace s2s;
using namespace s2s::test;

namespace {

const std::string kFiles = source_dir() + "/tests/reference/data/hf_mimi_";

struct Host {
  BuiltPlugins plugins;
  std::vector<std::string> warnings;

  std::unique_ptr<Codec> make(const std::string& keys) {
    ModelContext context;
    context.path = "model.codec";
    context.warn = [this](const std::string& message) { warnings.push_back(message); };
    auto codec =
        plugins.create<Codec>(parse_json(R"({"name": "mimi", )" + keys + "}", "codec"), context);
    codec->materialize(at::kCPU, at::kFloat, 0);
    return codec;
  }

  std::string id_of(const std::string& keys) {
    try {
      make(keys);
    } catch (const Error& error) {
      return error.id();
    }
    return "no error";
  }
};

/// A folder of transformers with the codec of a reference file, alone or inside a model: its
/// tensors then have the prefix, and its config.json is the block `key`.
void write_folder(const TemporaryFolder& folder, const SafetensorsFile& file,
                  const std::string& prefix, const std::string& key) {
  TensorMap weights;
  for (const auto& [name, tensor] : read_reference(file.path()).weights)
    weights[prefix + name] = tensor;
  const std::string config = file.metadata().at("options");
  if (!prefix.empty()) weights["embed_tokens.0.weight"] = at::zeros({2, 2});
  write_safetensors(folder / "model.safetensors", weights);
  folder.write("config.json", key.empty() ? config : "{\"" + key + "\": " + config + "}");
}

}  // namespace

TEST_CASE("mimi reads its folder, or that of a model around it") {
  Host host;
  const SafetensorsFile file = SafetensorsFile::open(kFiles + "small.safetensors");
  for (const auto& [prefix, key] : {std::pair{"", ""},
                                    {"audio_encoder.", "audio_encoder_config"},
                                    {"codec_model.", "codec_config"}}) {
    CAPTURE(std::string(prefix));
    const TemporaryFolder folder;
    write_folder(folder, file, prefix, key);
    const std::string path = R"("path": ")" + folder.path().string() + "\"";
    const auto codec = host.make(path);
    CHECK(codec->shape().num_codebooks == 5);
    CHECK(codec->shape().frame_rate_hz() == 12.5);
    const at::Tensor audio_BS = read_reference(file.path()).input("audio");
    const at::Tensor lengths_B = file.tensor("input/lengths");
    CHECK(at::equal(codec->encode(audio_BS, lengths_B).first, file.tensor("output/codes")));
    // The first books only, as Moshi has them.
    const auto fewer = host.make(path + R"(, "num_codebooks": 3)");
    CHECK(at::equal(fewer->encode(audio_BS, lengths_B).first,
                    file.tensor("output/codes").narrow(1, 0, 3)));
  }
  CHECK(host.warnings.empty());
}

TEST_CASE("mimi in pieces gives what it gives for the whole") {
  Host host;
  for (const char* name : {"small", "quarter_rate"}) {
    CAPTURE(std::string(name));
    const SafetensorsFile file = SafetensorsFile::open(kFiles + name + ".safetensors");
    const TemporaryFolder folder;
    write_folder(folder, file, "", "");
    const auto codec = host.make(R"("path": ")" + folder.path().string() + "\"");
    const at::Tensor audio_BS = read_reference(file.path()).input("audio");
    const at::Tensor codes_BKT = file.tensor("output/codes");
    const int64_t frame = codec->shape().samples_per_frame;
    for (const int64_t chunk : {frame, frame / 3, 3 * frame + 1}) {
      CAPTURE(chunk);
      const auto listener = codec->open_encoder_stream(2);
      std::vector<at::Tensor> heard;
      for (int64_t begin = 0; begin < audio_BS.size(1); begin += chunk) {
        heard.push_back(listener->push(audio_BS.slice(1, begin, begin + chunk)));
        // A frame is encoded with its last sample.
        if (chunk == frame) CHECK(heard.back().size(2) == 1);
      }
      heard.push_back(listener->finish());
      CHECK(at::equal(at::cat(heard, 2), codes_BKT));
    }
    for (const int64_t count : {1, 4}) {
      const auto speaker = codec->open_stream(2);
      std::vector<at::Tensor> spoken;
      for (int64_t begin = 0; begin < codes_BKT.size(2); begin += count) {
        spoken.push_back(speaker->push(codes_BKT.slice(2, begin, begin + count)));
        CHECK(spoken.back().size(1) == std::min(count, codes_BKT.size(2) - begin) * frame);
      }
      spoken.push_back(speaker->finish());
      CHECK(at::allclose(at::cat(spoken, 1), file.tensor("output/audio"), 1e-4, 2e-5));
    }
  }
}

TEST_CASE("mimi reads Kyutai's own weights and computes what its class computes") {
  Host host;
  const std::string folder = source_dir() + "/tests/reference/data/kyutai_mimi/";
  const std::string keys = R"("path": ")" + folder + R"(model.safetensors", "sampling_rate": 300,
      "upsampling_ratios": [4, 3], "hidden_size": 16, "num_filters": 4, "upsample_groups": 16,
      "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
      "intermediate_size": 24, "sliding_window": 7, "codebook_size": 16, "codebook_dim": 8,
      "vector_quantization_hidden_dimension": 8)";
  const auto codec = host.make(keys + R"(, "num_quantizers": 5)");
  const SafetensorsFile expected = SafetensorsFile::open(folder + "expected.safetensors");
  const at::Tensor audio_BS = expected.tensor("input/audio");
  const at::Tensor lengths_B = at::full({2}, audio_BS.size(1), at::kLong);
  CHECK(at::equal(codec->encode(audio_BS, lengths_B).first, expected.tensor("output/codes")));
  CHECK(at::allclose(codec->decode(expected.tensor("output/codes")),
                     expected.tensor("output/audio"), 1e-4, 2e-5));
  CHECK(host.id_of(keys + R"(, "num_quantizers": 6)") == "codec/mimi-weights");
}

TEST_CASE("a row of mimi does not depend on its neighbors") {
  Host host;
  const SafetensorsFile file = SafetensorsFile::open(kFiles + "small.safetensors");
  const TemporaryFolder folder;
  write_folder(folder, file, "", "");
  const auto codec = host.make(R"("path": ")" + folder.path().string() + "\"");
  const at::Tensor audio_BS = read_reference(file.path()).input("audio");
  const int64_t frame = codec->shape().samples_per_frame, shorter = 5 * frame + 7;
  const auto [codes_BKT, frames_B] =
      codec->encode(audio_BS, at::tensor({audio_BS.size(1), shorter}, at::kLong));
  CHECK(at::equal(frames_B, at::tensor({audio_BS.size(1) / frame, int64_t{6}}, at::kLong)));
  const auto alone =
      codec->encode(audio_BS.slice(0, 1).slice(1, 0, shorter), at::tensor({shorter}, at::kLong));
  CHECK(at::equal(alone.first[0], codes_BKT[1].slice(1, 0, 6)));
  CHECK(codes_BKT[1].slice(1, 6).eq(0).all().item<bool>());
  CHECK(codec->silence_codes().sizes() == at::IntArrayRef({5}));
}

TEST_CASE("mimi refuses what does not fit, and tells of random weights") {
  Host host;
  const std::string small = R"("sampling_rate": 300, "upsampling_ratios": [4, 3], "hidden_size": 8,
      "num_filters": 4, "upsample_groups": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
      "num_key_value_heads": 2, "intermediate_size": 8, "codebook_size": 4)";
  const auto codec = host.make(small);
  REQUIRE(host.warnings.size() == 1);
  CHECK(host.warnings[0].starts_with("[codec/untrained] model.codec.path"));
  CHECK(host.id_of(small + R"(, "num_codebooks": 33)") == "codec/mimi-sizes");
  CHECK(host.id_of(small + R"(, "compress": 3)") == "codec/mimi-sizes");
  CHECK_THROWS_WITH_AS(codec->decode(at::full({1, 32, 2}, 4, at::kLong)),
                       doctest::Contains("cannot decode code 4"), Error);
  const Component<Codec>& component = host.plugins.registries().get<Codec>("mimi");
  for (const char* config :
       {R"({"model_type": "mimi", "audio_channels": 2})", R"({"model_type": "encodec"})",
        R"({"model_type": "mimi", "no_such_key": 0.5})",
        R"({"model_type": "mimi", "rope_parameters": {"rope_type": "yarn"}})"}) {
    CHECK_THROWS_WITH_AS(component.translate(parse_json(config, "config.json")),
                         doctest::Contains("config.json"), Error);
  }
}

TEST_CASE("frames of a codec are joined to one, and codes are those of the frames") {
  Host host;
  const SafetensorsFile file = SafetensorsFile::open(kFiles + "small.safetensors");
  const TemporaryFolder folder;
  write_folder(folder, file, "", "");
  const std::string path = R"("path": ")" + folder.path().string() + "\"";
  const auto codec = host.make(path);
  const auto pairs = group_frames(host.make(path), 2);
  CHECK(pairs->shape().num_codebooks == 10);
  CHECK(pairs->shape().frame_rate_hz() == 6.25);
  CHECK(pairs->named_parameters().size() == codec->named_parameters().size());
  const int64_t frame = codec->shape().samples_per_frame;
  const at::Tensor audio_BS = at::randn({2, 5 * frame}) * 0.1;
  const auto [codes_BKT, groups_B] =
      pairs->encode(audio_BS, at::tensor({5 * frame, 3 * frame}, at::kLong));
  CHECK(at::equal(groups_B, at::tensor({3, 2}, at::kLong)));
  const at::Tensor whole_BS = at::constant_pad_nd(audio_BS, {0, frame});
  const at::Tensor single_BKT = codec->encode(whole_BS, at::full({2}, 6 * frame, at::kLong)).first;
  for (const int64_t t : {0, 1, 2}) {
    CHECK(at::equal(codes_BKT[0].select(1, t).view({2, 5}), single_BKT[0].narrow(1, 2 * t, 2).t()));
  }
  CHECK(at::equal(pairs->decode(codes_BKT.narrow(0, 0, 1)),
                  codec->decode(single_BKT.narrow(0, 0, 1))));
  // Random weights do not decode silence to silence.
  CHECK(conformance::broken_promises(*pairs) == conformance::broken_promises(*codec));
}

TEST_CASE("mimi as an encoder gives latents or their quantized sums, at once or live") {
  Host host;
  const auto make = [&](const std::string& output) {
    BuildContext context;
    context.path = "model.encoder";
    const Component<Encoder>& component = host.plugins.registries().get<Encoder>("mimi");
    const std::string keys = R"({"name": "mimi", "output": ")" + output + "\", ";
    auto encoder = host.plugins.create<Encoder>(
        parse_json(keys + std::string(component.tiny).substr(1), "encoder"), context);
    encoder->materialize(at::kCPU, at::kBFloat16, 0);
    return encoder;
  };
  at::manual_seed(4);
  const at::Tensor audio_BS = at::randn({2, 190}) * 0.3;
  const at::Tensor lengths_B = at::tensor({int64_t{190}, int64_t{100}}, at::kLong);
  for (const char* output : {"latents", "quantized"}) {
    CAPTURE(std::string(output));
    const auto encoder = make(output);
    const EncoderOutput out = encoder->forward(audio_BS, lengths_B);
    CHECK(out.features_BTH.sizes() ==
          at::IntArrayRef({int64_t{2}, encoder->output_width(190), int64_t{8}}));
    CHECK((out.features_BTH.scalar_type() == at::kFloat));
    CHECK(out.lengths_B[1].item<int64_t>() == encoder->output_frames(100));
    const auto stream = encoder->open_stream(1);
    std::vector<at::Tensor> frames;
    int64_t begin = 0;
    for (const int64_t end : {1, 50, 130, 190}) {
      frames.push_back(stream->push(audio_BS.narrow(0, 0, 1).slice(1, begin, end)));
      begin = end;
    }
    frames.push_back(stream->finish());
    CHECK(at::allclose(at::cat(frames, 1)[0], out.features_BTH[0], 1e-5, 1e-6));
  }
  CHECK_FALSE(
      make("latents")
          ->forward(audio_BS, lengths_B)
          .features_BTH.equal(make("quantized")->forward(audio_BS, lengths_B).features_BTH));
}
