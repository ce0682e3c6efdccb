// The codec nemo_audio_codec: archives, streams, and what it refuses. tests/reference compares
// results with NeMo.

#include "s2s/kinds/codec.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <filesystem>

#include "common/places.h"
#include "common/temporary_folder.h"
#include "compare/reference_file.h"
#include "plugins/built_plugins.h"
#include "s2s/conformance.h"
#include "s2s/error.h"
#include "s2s/nn/weights.h"
#include "weights/safetensors.h"

// Shape letters: B batch, S samples, K codebooks, T frames.

using namespace s2s;
using namespace s2s::test;

namespace {

const std::string kFiles = source_dir() + "/tests/reference/data/nemo_audio_codec";

ReferenceFile reference(const std::string& name) {
  return read_reference(kFiles + "_" + name + ".safetensors");
}

struct Host {
  BuiltPlugins plugins;
  std::vector<std::string> warnings;

  std::unique_ptr<Codec> make(const std::string& keys) {
    ModelContext context;
    context.path = "model.codec";
    context.warn = [this](const std::string& message) { warnings.push_back(message); };
    auto codec = plugins.create<Codec>(
        parse_json(R"({"name": "nemo_audio_codec", )" + keys + "}", "codec"), context);
    codec->materialize(at::kCPU, at::kFloat, 0);
    return codec;
  }

  std::unique_ptr<Codec> at_path(const std::filesystem::path& path) {
    return make(R"("path": ")" + path.string() + "\"");
  }

  /// With the weights of a reference file.
  std::unique_ptr<Codec> of_reference(const ReferenceFile& file) {
    const auto& component = plugins.registries().get<Codec>("nemo_audio_codec");
    auto codec = component.create(component.translate(file.options), ModelContext());
    codec->materialize(at::kCPU, at::kFloat, 0);
    load_weights(*codec, codec->checkpoint_names(), file.weights, file.path);
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

/// Keys of a small codec; `more` replaces some.
std::string small(const std::string& more = "") {
  return R"("sample_rate": 400, "samples_per_frame": 6,
      "audio_encoder": {"down_sample_rates": [2, 3], "base_channels": 2, "encoded_dim": 2},
      "vector_quantizer": {"num_groups": 1, "num_levels_per_group": [5, 4]},
      "audio_decoder": {"up_sample_rates": [3, 2], "base_channels": 8, "input_dim": 2})" +
         more;
}

/// The codes of a stream that receives `chunk` samples at a time.
at::Tensor heard_in(Codec& codec, const at::Tensor& audio_BS, int64_t chunk) {
  const auto listener = codec.open_encoder_stream(audio_BS.size(0));
  std::vector<at::Tensor> heard;
  for (int64_t begin = 0; begin < audio_BS.size(1); begin += chunk) {
    heard.push_back(listener->push(audio_BS.slice(1, begin, begin + chunk)));
  }
  heard.push_back(listener->finish());
  return at::cat(heard, 2);
}

/// The audio of a stream that gets `count` frames at a time.
at::Tensor spoken_in(Codec& codec, const at::Tensor& codes_BKT, int64_t count) {
  const auto speaker = codec.open_stream(codes_BKT.size(0));
  std::vector<at::Tensor> spoken;
  for (int64_t begin = 0; begin < codes_BKT.size(2); begin += count) {
    spoken.push_back(speaker->push(codes_BKT.slice(2, begin, begin + count)));
  }
  spoken.push_back(speaker->finish());
  return at::cat(spoken, 1);
}

}  // namespace

TEST_CASE("nemo_audio_codec reads the archive that NeMo saved, and its folder") {
  Host host;
  const ReferenceFile file = reference("mixed_elu");
  const TemporaryFolder unpacked, around;
  std::filesystem::copy(kFiles + ".nemo", around / "codec.nemo");
  const std::string command = "tar xf " + kFiles + ".nemo -C " + unpacked.path().string();
  REQUIRE(std::system(command.c_str()) == 0);
  for (const std::filesystem::path& path :
       {std::filesystem::path(kFiles + ".nemo"), unpacked.path(), around.path()}) {
    CAPTURE(path.string());
    const auto codec = host.at_path(path);
    CHECK(codec->shape().sample_rate_hz == 8000);
    CHECK(codec->shape().samples_per_frame == 10);
    CHECK(codec->shape().codebook_size == 840);
    CHECK(at::equal(codec->encode(file.input("audio"), file.input("lengths")).first,
                    file.output("codes")));
  }
  CHECK(host.warnings.empty());
}

TEST_CASE("nemo_audio_codec reads weights in the spelling of torch's older weight norm") {
  Host host;
  const ReferenceFile file = reference("causal_half_snake");
  TensorMap older;
  for (const auto& [name, tensor] : file.weights) {
    const size_t at = name.find("parametrizations.weight.original");
    older[at == std::string::npos
              ? name
              : name.substr(0, at) + (name.back() == '0' ? "weight_g" : "weight_v")] = tensor;
  }
  REQUIRE(older.count("audio_encoder.pre_conv.conv.weight_g") == 1);
  const auto codec = host.of_reference(file);
  const at::Tensor before = codec->decode(file.output("codes"));
  codec->materialize(at::kCPU, at::kFloat, 0);
  load_weights(*codec, codec->checkpoint_names(), older, "older");
  CHECK(at::equal(codec->decode(file.output("codes")), before));
  older.erase("audio_encoder.pre_conv.conv.weight_v");
  CHECK_THROWS_WITH_AS(load_weights(*codec, codec->checkpoint_names(), older, "older"),
                       doctest::Contains("audio_encoder.pre_conv.conv"), Error);
}

TEST_CASE("a causal nemo_audio_codec in pieces gives what it gives for the whole") {
  Host host;
  const ReferenceFile file = reference("causal_half_snake");
  const auto codec = host.of_reference(file);
  const at::Tensor audio_BS = file.input("audio").slice(0, 0, 1);
  const at::Tensor codes_BKT = file.output("codes").slice(0, 0, 1);
  for (const int64_t chunk : {1, 7, 30, 101}) {
    CHECK(at::equal(heard_in(*codec, audio_BS, chunk), codes_BKT));
  }
  for (const int64_t count : {1, 4, 30}) {
    CHECK(at::allclose(spoken_in(*codec, codes_BKT, count), file.output("audio").slice(0, 0, 1),
                       1e-4, 2e-5));
  }
  // A frame is spoken at once.
  CHECK(codec->open_stream(1)->push(codes_BKT.slice(2, 0, 1)).size(1) == 30);
  // More than the frames that are computed at once.
  const at::Tensor long_BS = at::cat(std::vector<at::Tensor>(5, audio_BS), 1);
  const auto [long_BKT, frames_B] = codec->encode(long_BS, at::tensor({4500}, at::kLong));
  CHECK(frames_B.item<int64_t>() == 150);
  CHECK(at::equal(heard_in(*codec, long_BS, 4500), long_BKT));
  CHECK(conformance::broken_promises(*codec, /*is_trained=*/false).empty());
}

TEST_CASE("a symmetric nemo_audio_codec speaks at the end, and takes whole recordings only") {
  Host host;
  const ReferenceFile file = reference("symmetric_snake");
  const auto codec = host.of_reference(file);
  const at::Tensor codes_BKT = file.output("codes").slice(0, 0, 1);
  CHECK(at::equal(spoken_in(*codec, codes_BKT, 7), codec->decode(codes_BKT)));
  CHECK(codec->open_stream(1)->push(codes_BKT).size(1) == 0);
  CHECK(codec->open_encoder_stream(1) == nullptr);
  CHECK(codec->silence_codes().sizes() == at::IntArrayRef({3}));
  // Four frames are what a reflection of three positions needs.
  const at::Tensor audio_BS = file.input("audio").slice(0, 0, 1);
  CHECK(codec->encode(audio_BS, at::tensor({96}, at::kLong)).second.item<int64_t>() == 4);
  for (const auto& fails : std::vector<std::function<void()>>{
           [&] { codec->encode(audio_BS, at::tensor({72}, at::kLong)); },
           [&] { codec->decode(codes_BKT.slice(2, 0, 3)); }}) {
    try {
      fails();
      FAIL("too few frames were taken");
    } catch (const Error& error) {
      CHECK(error.id() == "codec/too-short");
    }
  }
}

TEST_CASE("nemo_audio_codec refuses what does not fit, and tells of random weights") {
  Host host;
  const auto codec = host.make(small());
  REQUIRE(host.warnings.size() == 1);
  CHECK(host.warnings[0].starts_with("[codec/untrained] model.codec.path"));
  CHECK_THROWS_WITH_AS(codec->decode(at::full({1, 1, 2}, 20, at::kLong)),
                       doctest::Contains("cannot decode code 20"), Error);
  CHECK(host.id_of(small(R"(, "samples_per_frame": 12)")) == "codec/nemo-sizes");
  CHECK(host.id_of(small(R"(, "vector_quantizer": {"num_groups": 2})")) == "codec/nemo-sizes");
  CHECK(host.id_of(small(R"(, "audio_encoder": {"down_sample_rates": [2, 3], "encoded_dim": 2,
      "base_channels": 1, "activation": "half_snake"})")) == "codec/nemo-sizes");
  CHECK(host.id_of(small(R"(, "audio_decoder": {"up_sample_rates": [3, 2], "input_dim": 2,
      "base_channels": 8, "causal": false, "in_kernel_size": 4})")) == "codec/nemo-sizes");
}

TEST_CASE("nemo_audio_codec reads a quantizer of one group, and activations in capitals") {
  Host host;
  ReferenceFile file = reference("mixed_elu");
  file.options["vector_quantizer"] =
      parse_json(R"({"_target_": "modules.FiniteScalarQuantizer", "num_levels": [7, 6, 5, 4]})",
                 "model_config.yaml");
  file.options["audio_encoder"]["activation"] = Config::scalar("ELU", true);
  const auto codec = host.of_reference(file);
  CHECK(at::equal(codec->encode(file.input("audio"), file.input("lengths")).first,
                  file.output("codes")));
  // No audio has no frames.
  const auto causal = host.make(small());
  CHECK(causal->encode(at::zeros({1, 0}), at::zeros({1}, at::kLong)).first.size(2) == 0);
  CHECK(causal->decode(at::zeros({1, 1, 0}, at::kLong)).size(1) == 0);
}

TEST_CASE("nemo_audio_codec refuses other classes, keys and files") {
  Host host;
  const ReferenceFile file = reference("mixed_elu");
  const auto& component = host.plugins.registries().get<Codec>("nemo_audio_codec");
  const auto refuses = [&](const std::string& key, const std::string& value) {
    Config changed = file.options;
    Config* block = &changed;
    const size_t dot = key.find('.');
    if (dot != std::string::npos) block = changed.find(key.substr(0, dot));
    (*block)[key.substr(dot == std::string::npos ? 0 : dot + 1)] = Config::scalar(value, true);
    CHECK_THROWS_WITH_AS(component.translate(changed), doctest::Contains(key.c_str()), Error);
  };
  refuses("target", "nemo.collections.asr.models.EncDecCTCModel");
  refuses("audio_encoder._target_", "modules.MultiBandMelEncoder");
  refuses("vector_quantizer._target_", "modules.ResidualVectorQuantizer");
  refuses("audio_decoder.new_key", "1");
  refuses("semantic_codec_path", "semantic.nemo");
  refuses("output_sample_rate", "16000");
  CHECK(host.id_of(R"("path": ")" + source_dir() + R"(/tests/reference/data/archive.nemo")") ==
        "weights/config");
  const TemporaryFolder folder;
  folder.write("short.nemo", "not a tar");
  CHECK(host.id_of(R"("path": ")" + folder.path().string() + "/short.nemo\"") == "weights/format");
  CHECK(host.id_of(R"("path": "nowhere.nemo")") == "weights/unreadable");
}
