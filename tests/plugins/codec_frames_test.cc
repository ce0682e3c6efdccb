// The codecs that s2s/nn/frame_codec.h carries: what all codecs promise, and files that do not fit.
// tests/reference compares results with transformers.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <fstream>

#include "common/contains.h"
#include "common/places.h"
#include "common/temporary_folder.h"
#include "compare/reference_file.h"
#include "plugins/built_plugins.h"
#include "s2s/conformance.h"
#include "s2s/error.h"
#include "s2s/kinds/codec.h"
#include "s2s/nn/weights.h"
#include "weights/safetensors.h"

// Shape letters: B batch, S samples, K codebooks, T frames.

using namespace s2s;
using namespace s2s::test;

namespace {

struct Host {
  BuiltPlugins plugins;
  std::vector<std::string> warnings;

  std::unique_ptr<Codec> make(const std::string& config) {
    ModelContext context;
    context.path = "model.codec";
    context.warn = [this](const std::string& message) { warnings.push_back(message); };
    auto codec = plugins.create<Codec>(parse_json(config, "codec"), context);
    codec->materialize(at::kCPU, at::kFloat, 0);
    return codec;
  }

  /// The options of the component for tests, with more keys.
  std::unique_ptr<Codec> make_tiny(const std::string& name, const std::string& keys) {
    const std::string tiny = plugins.registries().get<Codec>(name).tiny;
    const std::string rest = tiny.substr(1);
    return make("{\"name\": \"" + name + "\", " + (keys.empty() ? "" : keys + ", ") + rest);
  }

  std::string message_of(const std::string& config) {
    try {
      make(config);
    } catch (const Error& error) {
      return "[" + error.id() + "] " + error.what();
    }
    return "no error";
  }
};

/// The folder of a reference file, as transformers writes it.
struct Folder {
  explicit Folder(const std::string& reference)
      : file(SafetensorsFile::open(source_dir() + "/tests/reference/data/" + reference +
                                   ".safetensors")) {
    write(read_reference(file.path()).weights);
    folder.write("config.json", file.metadata().at("options"));
  }
  void write(const TensorMap& weights) { write_safetensors(folder / "model.safetensors", weights); }
  std::string config(const std::string& name, const std::string& more = "") const {
    return "{\"name\": \"" + name + "\", \"path\": \"" + folder.path().string() + "\"" + more + "}";
  }
  TemporaryFolder folder;
  SafetensorsFile file;
};

TensorMap in_old_spelling(const TensorMap& weights) {
  TensorMap old;
  for (const auto& [name, tensor] : weights) {
    std::string spelled = name;
    for (const auto& [from, to] : {std::pair{"parametrizations.weight.original0", "weight_g"},
                                   {"parametrizations.weight.original1", "weight_v"}}) {
      const size_t at = spelled.find(from);
      if (at != std::string::npos) spelled.replace(at, std::string(from).size(), to);
    }
    old[spelled] = tensor;
  }
  return old;
}

}  // namespace

TEST_CASE("codecs on layers keep their promises, whatever their paddings") {
  Host host;
  const std::pair<const char*, const char*> cases[] = {
      {"mimi", ""},
      {"mimi", R"("pad_mode": "reflect", "use_conv_shortcut": true)"},
      {"mimi", R"("use_causal_conv": false)"},
      {"encodec", ""},
      {"encodec", R"("pad_mode": "constant", "use_causal_conv": false)"},
      {"encodec", R"("pad_mode": "replicate", "trim_right_ratio": 0.5)"},
      {"dac", ""},
      {"dac", R"("upsampling_ratios": [2, 4])"}};
  for (const auto& [name, keys] : cases) {
    CAPTURE(std::string(name));
    CAPTURE(std::string(keys));
    const auto codec = host.make_tiny(name, keys);
    for (const std::string& answer : conformance::broken_promises(*codec, /*is_trained=*/false)) {
      FAIL_CHECK(answer);
    }
  }
}

TEST_CASE("audio of any length has the codes that it has in a batch with longer audio") {
  Host host;
  for (const char* name : {"mimi", "encodec", "dac"}) {
    CAPTURE(std::string(name));
    const auto codec = host.make_tiny(name, "");
    at::manual_seed(2);
    for (const int64_t samples : {1, 7, 9, 40, 43}) {
      CAPTURE(samples);
      const at::Tensor audio_BS = at::randn({2, 60}) * 0.3;
      const auto both = codec->encode(audio_BS, at::tensor({int64_t{60}, samples}, at::kLong));
      const at::Tensor alone_1S = audio_BS.slice(0, 1).slice(1, 0, samples);
      const auto alone = codec->encode(alone_1S, at::full({1}, samples, at::kLong));
      CHECK(alone.first[0].equal(both.first[1].slice(1, 0, alone.first.size(2))));
    }
  }
}

TEST_CASE("a stream refuses a state that is not its own") {
  Host host;
  const auto codec = host.make_tiny("encodec", "");
  const auto wider = host.make_tiny("encodec", R"("compress": 1)");
  const auto saved = codec->open_stream(2)->state();
  const auto problem_of = [](auto& stream, const TensorMap& state) {
    try {
      stream.restore(state);
    } catch (const Error& error) {
      return "[" + error.id() + "] " + error.what();
    }
    return std::string();
  };
  const std::string id = "[codec/stream-state]";
  CHECK(problem_of(*codec->open_stream(2), saved).empty());
  CHECK(contains(problem_of(*wider->open_stream(2), saved), id));
  CHECK(contains(problem_of(*wider->open_stream(2), saved), "is of another codec"));
  CHECK(contains(problem_of(*codec->open_stream(3), saved), "is of batch size 2"));
  CHECK(contains(problem_of(*codec->open_encoder_stream(2), saved), "a stream that encodes"));
  CHECK(contains(problem_of(*codec->open_stream(2), {}), "is of no stream"));
  TensorMap changed = saved;
  changed["decoder.layers.99#0"] = at::zeros({2, 3, 4});
  CHECK(contains(problem_of(*codec->open_stream(2), changed), "'decoder.layers.99#0'"));
  changed = saved;
  changed.erase("counts");
  CHECK(contains(problem_of(*codec->open_stream(2), changed), "has no tensor 'counts'"));
}

TEST_CASE("encodec reads both spellings of the weight norm, and books by bandwidth") {
  Host host;
  Folder folder("hf_encodec_causal");
  const at::Tensor audio_BS = read_reference(folder.file.path()).input("audio");
  const at::Tensor lengths_B = folder.file.tensor("input/lengths");
  const at::Tensor codes_BKT = folder.file.tensor("output/codes");
  const auto encoded = [&](const std::string& more) {
    return host.make(folder.config("encodec", more))->encode(audio_BS, lengths_B).first;
  };
  CHECK(encoded(R"(, "bandwidth": 1.0)").equal(codes_BKT));
  CHECK(encoded(R"(, "num_codebooks": 3)").equal(codes_BKT.narrow(1, 0, 3)));
  CHECK(encoded("").equal(codes_BKT.narrow(1, 0, 2)));  // the first of target_bandwidths
  folder.write(in_old_spelling(read_reference(folder.file.path()).weights));
  CHECK(encoded(R"(, "bandwidth": 1.0)").equal(codes_BKT));
  CHECK(host.warnings.empty());
}

TEST_CASE("encodec in chunks encodes whole recordings, and says that it cannot stream") {
  Host host;
  const Folder folder("hf_encodec_stereo_chunks");
  const auto codec = host.make(folder.config("encodec", R"(, "bandwidth": 1.0)"));
  REQUIRE(host.warnings.size() == 1);
  CHECK(host.warnings[0].starts_with("[codec/encodec-chunks] model.codec"));
  CHECK_THROWS_WITH_AS(codec->open_stream(1), doctest::Contains("codec/not-streamable"), Error);
  CHECK(codec->open_encoder_stream(1) == nullptr);
  const at::Tensor audio_BS = at::randn({2, 900}) * 0.1;
  const auto [codes_BKT, frames_B] =
      codec->encode(audio_BS, at::tensor({int64_t{900}, int64_t{700}}, at::kLong));
  CHECK(codes_BKT.size(2) == frames_B.max().item<int64_t>());
  CHECK(codec->decode(codes_BKT).sizes() == at::IntArrayRef({2, codes_BKT.size(2) * 8}));
}

TEST_CASE("files that do not fit a codec end in one message") {
  Host host;
  const std::pair<const char*, const char*> codecs[] = {
      {"encodec", "hf_encodec_causal"}, {"dac", "hf_dac_small"}, {"mimi", "hf_mimi_small"}};
  for (const auto& [name, reference] : codecs) {
    CAPTURE(std::string(name));
    Folder folder(reference);
    const std::string config = folder.config(name);
    TensorMap weights = read_reference(folder.file.path()).weights;
    const auto taken = weights.extract(
        "decoder." + std::string(name == std::string("dac") ? "conv1.bias" : "layers.0.conv.bias"));
    folder.write(weights);
    CHECK(contains(host.message_of(config), "[weights/mismatch]"));
    weights[taken.key()] = at::zeros({3});
    folder.write(weights);
    CHECK(contains(host.message_of(config), "[weights/mismatch]"));
    std::ofstream(folder.folder / "model.safetensors") << "not a file of tensors";
    CHECK(contains(host.message_of(config), "model.safetensors"));
    folder.folder.write("config.json", R"({"model_type": "llama"})");
    CHECK(contains(host.message_of(config), "[weights/config]"));
    folder.folder.write("config.json",
                        "{\"model_type\": \"" + std::string(name) + "\", \"no_such_key\": 1}");
    CHECK(contains(host.message_of(config), "no_such_key"));
  }
  CHECK(contains(host.message_of(R"({"name": "dac", "n_codebooks": 2, "num_codebooks": 3})"),
                 "[codec/dac-sizes]"));
  for (const char* const keys :
       {R"("bandwidth": 2)", R"("scalar_levels": [3, 3, 3])", R"("scalar_levels": [2, 2])"}) {
    CHECK(contains(host.message_of("{\"name\": \"encodec\", " + std::string(keys) + "}"),
                   "[codec/encodec-sizes]"));
  }
  const auto codec = host.make_tiny("dac", "");
  CHECK_THROWS_WITH_AS(codec->decode(at::full({1, 3, 2}, 8, at::kLong)),
                       doctest::Contains("cannot decode code 8"), Error);
}

TEST_CASE("the published sizes have the published numbers of weights") {
  Host host;
  // Of transformers' classes, without EnCodec's averages of training (embed_avg, cluster_size,
  // inited).
  const std::pair<const char*, int64_t> sizes[] = {
      {R"({"name": "mimi"})", 96151393},
      {R"({"name": "encodec"})", 19046114},
      {R"({"name": "dac", "sampling_rate": 44100})", 76620777}};
  for (const auto& [config, expected] : sizes) {
    CAPTURE(std::string(config));
    ModelContext context;
    context.path = "model.codec";
    const auto codec = host.plugins.create<Codec>(parse_json(config, "codec"), context);
    int64_t count = 0;
    for (const NamedTensor& buffer : codec->named_buffers()) count += buffer.tensor->numel();
    CHECK(count == expected);
  }
}
