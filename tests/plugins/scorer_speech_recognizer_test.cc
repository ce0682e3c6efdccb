// The scorers of speech_recognizer: archives, folders, clips, and what they refuse. tests/reference
// compares results with NeMo and transformers.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "common/places.h"
#include "common/temporary_folder.h"
#include "compare/reference_file.h"
#include "plugins/built_plugins.h"
#include "s2s/conformance.h"
#include "s2s/error.h"
#include "s2s/kinds/scorer.h"
#include "s2s/nn/weights.h"
#include "weights/safetensors.h"

// Shape letters: A audios, S samples.

using namespace s2s;
using namespace s2s::test;

namespace {

const std::string kData = source_dir() + "/tests/reference/data/";
const std::string kArchive = kData + "recognizer.nemo";

struct Host {
  BuiltPlugins plugins;

  std::unique_ptr<Scorer> make(const std::string& name, const std::string& path,
                               const std::string& keys = "") {
    ScorerContext context;
    context.path = "model.scoring_asr";
    const std::string text = R"({"name": ")" + name + R"(", "path": ")" + path + "\"" + keys + "}";
    return plugins.create<Scorer>(parse_json(text, "scorer"), context);
  }

  std::string error_of(const std::string& name, const std::string& path) {
    try {
      make(name, path);
    } catch (const Error& error) {
      return error.id() + ": " + error.what();
    }
    return "no error";
  }
};

/// The clips of the archive's model: what recognizer.json says of them.
std::vector<AudioClip> clips_of(const Config& expected) {
  std::vector<AudioClip> clips;
  const ReferenceFile file = read_reference(kData + "nemo_asr_ctc.safetensors");
  const at::Tensor audio_AS = file.input("audio");
  const at::Tensor lengths_A = file.input("lengths");
  for (size_t i = 0; i < expected.find("texts")->items().size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    clips.push_back({audio_AS[row].narrow(0, 0, lengths_A[row].item<int64_t>()), 16000});
  }
  return clips;
}

/// A folder of transformers with the model of a reference file.
void write_parakeet(const TemporaryFolder& folder, const std::string& name) {
  const std::string path = kData + "hf_parakeet_" + name + ".safetensors";
  write_safetensors(folder / "model.safetensors", read_reference(path).weights);
  folder.write("config.json", SafetensorsFile::open(path).metadata().at("options"));
  folder.write("tokenizer.json", R"({"version": "1.0", "added_tokens": [], "normalizer": null,
      "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Metaspace",
      "replacement": "\u2581", "prepend_scheme": "always", "split": true}, "model": {"type": "BPE",
      "merges": [], "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, "f": 5, "g": 6, "h": 7,
      "i": 8, "j": 9, "k": 10}}})");
}

}  // namespace

TEST_CASE("the archive that NeMo saved transcribes as NeMo does, with the archive's tokenizer") {
  Host host;
  const Config expected = read_json(kData + "recognizer.json");
  std::vector<AudioClip> clips = clips_of(expected);
  clips.insert(clips.begin() + 1, {at::zeros({20000}), 16000});
  clips.push_back({at::full({40}, 0.1F), 16000});
  for (const char* keys : {"", R"(, "batch_size": 1)"}) {
    const auto scorer = host.make("ctc", kArchive, keys);
    scorer->prepare({"the cat"});
    const std::vector<std::string> texts = scorer->transcribe(clips);
    REQUIRE(texts.size() == 4);
    CHECK(texts[0] == expected.find("texts")->items()[0].text());
    CHECK(texts[1].empty());
    CHECK(texts[2] == expected.find("texts")->items()[1].text());
    CHECK(texts[3].empty());
  }
}

TEST_CASE("a recognizer keeps what scorers promise") {
  Host host;
  CHECK(conformance::broken_promises(*host.make("ctc", kArchive)).empty());
  CHECK(host.make("ctc", kArchive)->transcribe({}).empty());
}

TEST_CASE("the folder of an unpacked archive is one, too") {
  Host host;
  const TemporaryFolder folder;
  REQUIRE(std::system(("tar xf " + kArchive + " -C " + folder.path().string()).c_str()) == 0);
  const Config expected = read_json(kData + "recognizer.json");
  const auto texts = host.make("ctc", folder.path().string())->transcribe(clips_of(expected));
  CHECK(texts[0] == expected.find("texts")->items()[0].text());
}

TEST_CASE("folders of Parakeet transcribe with their tokenizer.json") {
  Host host;
  for (const auto& [name, scorer] :
       {std::pair{"ctc", "ctc"}, {"rnnt", "transducer"}, {"tdt", "transducer"}}) {
    CAPTURE(std::string(name));
    const TemporaryFolder folder;
    write_parakeet(folder, name);
    std::filesystem::copy(kArchive, folder / "same.nemo");  // as NVIDIA publishes them
    const ReferenceFile file =
        read_reference(kData + "hf_parakeet_" + std::string(name) + ".safetensors");
    const int64_t length = file.input("lengths")[0].item<int64_t>();
    const auto texts = host.make(scorer, folder.path().string())
                           ->transcribe({{file.input("audio")[0].narrow(0, 0, length), 16000}});
    const at::Tensor ids = file.output("ids")[0];
    const int64_t count = file.output("id_lengths")[0].item<int64_t>();
    std::string expected;
    for (int64_t i = 0; i < count; ++i) {
      expected += static_cast<char>('a' + ids[i].item<int64_t>());
    }
    CHECK(texts == std::vector<std::string>{expected});
  }
}

TEST_CASE("a recognizer says what the model does not have") {
  Host host;
  CHECK(host.error_of("transducer", kArchive).starts_with("scorer/no-decoder"));
  const TemporaryFolder folder, parakeet;
  write_parakeet(parakeet, "rnnt");
  CHECK(host.error_of("ctc", parakeet.path().string()).starts_with("scorer/no-decoder"));
  ScorerContext context;
  context.path = "model.scoring_asr";
  CHECK_THROWS_WITH_AS(
      host.plugins.create<Scorer>(parse_json(R"({"name": "ctc"})", "scorer"), context),
      doctest::Contains("scorer/no-model"), Error);
  ::setenv("TMPDIR", (folder.path() / "nowhere").c_str(), 1);
  const std::string unpacked = host.error_of("ctc", kArchive);
  ::unsetenv("TMPDIR");
  CHECK(unpacked.starts_with("scorer/tokenizer-file"));
  // Another class, another kind of file, weights of another model.
  CHECK(host.error_of("ctc", kData + "nemo_audio_codec.nemo").starts_with("weights/config"));
  folder.write("short.nemo", "not a tar");
  CHECK(host.error_of("ctc", folder.path().string() + "/short.nemo").starts_with("weights/format"));
  CHECK(host.error_of("ctc", "nowhere").starts_with("weights/unreadable"));
  write_safetensors(parakeet / "model.safetensors", {{"encoder.extra", at::zeros({1})}});
  CHECK(host.error_of("transducer", parakeet.path().string()).starts_with("weights/mismatch"));
}

TEST_CASE("configurations that are not implemented are refused by key") {
  Host host;
  const ReferenceFile file = read_reference(kData + "nemo_asr_tdt.safetensors");
  const auto refuses = [&](const std::string& key, const Config& value) {
    Config changed = file.options;
    Config* block = &changed;
    std::string rest = key;
    for (size_t dot = rest.find('.'); dot != std::string::npos; dot = rest.find('.')) {
      block = &(*block)[rest.substr(0, dot)];
      rest = rest.substr(dot + 1);
    }
    (*block)[rest] = value;
    Config node = Config::map();
    node["name"] = Config::scalar("transducer");
    node["model"] = changed;
    ScorerContext context;
    context.path = "model.scoring_asr";
    CHECK_THROWS_WITH_AS(host.plugins.create<Scorer>(node, context), doctest::Contains(key.c_str()),
                         Error);
  };
  refuses("decoder._target_", Config::scalar("modules.StatelessTransducerDecoder", true));
  refuses("decoder.blank_as_pad", Config::scalar("false"));
  refuses("joint._target_", Config::scalar("modules.HATJoint", true));
  refuses("joint.num_extra_outputs", Config::scalar("2"));
  refuses("encoder._target_", Config::scalar("modules.SqueezeformerEncoder", true));
  refuses("preprocessor._target_", Config::scalar("modules.AudioToMFCCPreprocessor", true));
  refuses("decoder.prednet.rnn_hidden_size", Config::scalar("64"));
  refuses("tokenizer.type", Config::scalar("wpe", true));
}

TEST_CASE("a model that asks for a beam search is decoded greedily, with a warning") {
  Host host;
  std::vector<std::string> warnings;
  ScorerContext context;
  context.path = "model.scoring_asr";
  context.warn = [&](const std::string& message) { warnings.push_back(message); };
  Config node = Config::map();
  node["name"] = Config::scalar("transducer", true);
  node["model"] = read_reference(kData + "nemo_asr_tdt.safetensors").options;
  node["model"]["decoding"]["strategy"] = Config::scalar("greedy_batch", true);
  host.plugins.create<Scorer>(node, context);
  CHECK(warnings.empty());
  node["model"]["decoding"]["strategy"] = Config::scalar("maes", true);
  host.plugins.create<Scorer>(node, context);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].starts_with("[scorer/greedy] model.scoring_asr.model: decoding.strategy is "));
}
