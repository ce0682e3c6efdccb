// The scorers of speech_recognizer: archives, folders, clips, and what they refuse. tests/reference
// compares results with NeMo and transformers.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "common/contains.h"
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

  std::string error_of(const std::string& name, const std::string& path,
                       const std::string& keys = "") {
    try {
      make(name, path, keys);
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

/// A tokenizer.json of the pieces a to k; one of them may be another.
std::string tokenizer_json(int64_t other = -1, const std::string& piece = "") {
  std::string vocabulary;
  for (int64_t id = 0; id < 11; ++id) {
    const std::string own(1, static_cast<char>('a' + id));
    vocabulary +=
        (id == 0 ? "\"" : ", \"") + (id == other ? piece : own) + "\": " + std::to_string(id);
  }
  return R"({"version": "1.0", "added_tokens": [], "normalizer": null,
      "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Metaspace",
      "replacement": "\u2581", "prepend_scheme": "always", "split": true}, "model": {"type": "BPE",
      "merges": [], "vocab": {)" +
         vocabulary + "}}}";
}

/// A folder of transformers with the model of a reference file.
void write_parakeet(const TemporaryFolder& folder, const std::string& name) {
  const std::string path = kData + "hf_parakeet_" + name + ".safetensors";
  write_safetensors(folder / "model.safetensors", read_reference(path).weights);
  folder.write("config.json", SafetensorsFile::open(path).metadata().at("options"));
  folder.write("tokenizer.json", tokenizer_json());
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

TEST_CASE("a model whose search is not there is decoded greedily, with a warning") {
  Host host;
  std::vector<std::string> warnings;
  ScorerContext context;
  context.path = "model.scoring_asr";
  context.warn = [&](const std::string& message) { warnings.push_back(message); };
  Config node = Config::map();
  node["name"] = Config::scalar("transducer", true);
  node["model"] = read_reference(kData + "nemo_asr_tdt.safetensors").options;
  const auto warned = [&](const std::string& key, const std::string& value) {
    node["model"]["decoding"]["strategy"] = Config::scalar(value, true);
    if (!key.empty()) node["model"]["decoding"]["beam"][key] = Config::scalar("model.arpa", true);
    warnings.clear();
    host.plugins.create<Scorer>(node, context);
    return warnings;
  };
  CHECK(warned("", "greedy_batch").empty());
  CHECK(warned("", "maes").empty());
  REQUIRE(warned("", "alsd").size() == 1);
  CHECK(warnings[0].starts_with(
      "[scorer/greedy] model.scoring_asr.model.decoding.strategy is alsd, which is not there"));
  REQUIRE(warned("ngram_lm_model", "malsd_batch").size() == 1);
  CHECK(warnings[0].starts_with(
      "[scorer/language-model] "
      "model.scoring_asr.model.decoding.beam.ngram_lm_model is model.arpa"));
  // The scorer's own options come first.
  node["decoding"]["strategy"] = Config::scalar("beam", true);
  node["decoding"]["beam"]["beam_size"] = Config::scalar("2");
  CHECK(warned("", "alsd").size() == 1);
  node["model"]["decoding"]["beam"] = parse_json(R"({"beam_size": 0})", "beam");
  CHECK(warned("", "alsd").empty());
  node.erase("decoding");
  CHECK_THROWS_WITH_AS(warned("", "beam"), doctest::Contains("decoding.beam.beam_size"), Error);
}

TEST_CASE("options of decoding that cannot be are refused") {
  Host host;
  const auto refused = [&](const std::string& decoding) {
    return host.error_of("ctc", kArchive, R"(, "decoding": )" + decoding);
  };
  const std::string unknown = refused(R"({"strategy": "malsd_batch"})");
  CHECK(unknown.starts_with("scorer/strategy"));
  CHECK(contains(unknown, "malsd_batch"));
  CHECK(contains(unknown, "greedy, greedy_batch, beam_batch"));
  CHECK(refused(R"({"strategy": "beam_batch", "beam": {"beam_size": 1}})") == "no error");
  CHECK(refused(R"({"beam": {"beam_size": 0}})").starts_with("config/"));
  CHECK(refused(R"({"beam": {"ngram_lm_model": "x"}})").starts_with("config/unknown-key"));
  CHECK(refused(R"({"confidence_cfg": {"aggregation": "median"}})").starts_with("config/"));
  CHECK(refused(R"({"confidence_cfg": {"method_cfg": {"alpha": 0}}})").starts_with("config/"));
}

TEST_CASE("the weights of a recognizer run with another attention") {
  Host host;
  const std::vector<AudioClip> clips = clips_of(read_json(kData + "recognizer.json"));
  const auto heard = [&](const std::string& conformer) {
    const std::string keys = R"(, "model_change": {"conformer": {)" + conformer + "}}";
    return host.make("ctc", kArchive, keys)->transcribe(clips);
  };
  const auto whole = host.make("ctc", kArchive)->transcribe(clips);
  const std::string local = R"("self_attention_model": "rel_pos_local_attn", )";
  const std::string narrow = R"("att_context_size": [1, 1])";
  CHECK(heard("") == whole);
  CHECK(heard(local + R"("att_context_size": [128, 128])") == whole);
  CHECK(heard(local + narrow) == heard(narrow));
  CHECK(heard(local + narrow) != whole);
  CHECK(heard(R"("self_attention_model": "abs_pos")") != whole);
  const auto refused = [&](const std::string& conformer) {
    return host.error_of("ctc", kArchive,
                         R"(, "model_change": {"conformer": {)" + conformer + "}}");
  };
  const std::string unlimited = refused(R"("self_attention_model": "rel_pos_local_attn")");
  CHECK(unlimited.starts_with("scorer/model-change"));
  CHECK(contains(unlimited, "model_change.conformer.att_context_size: [-1, -1]"));
  CHECK(refused(local + R"("att_context_size": [0, 0])").starts_with("scorer/model-change"));
  CHECK(refused(local + R"("att_context_size": [8, -1])").starts_with("scorer/model-change"));
  CHECK(refused(R"("att_context_size": [8])").starts_with("scorer/model-change"));
  const std::string unknown = refused(R"("self_attention_model": "rope")");
  CHECK(unknown.starts_with("scorer/model-change"));
  CHECK(contains(unknown, "model_change.conformer.self_attention_model: rope"));
  CHECK(refused(R"("attention": 1)").starts_with("config/unknown-key"));
}

TEST_CASE("words of a greedy search have NeMo's confidence, and the text that of its words") {
  Host host;
  const Config expected = read_json(kData + "recognizer.json");
  const std::vector<AudioClip> clips = clips_of(expected);
  const auto found = host.make("ctc", kArchive)->transcripts(clips);
  for (size_t i = 0; i < clips.size(); ++i) {
    const Config& sure = expected.find("confidences")->items()[i];
    REQUIRE(found[i].words.size() == sure.items().size());
    double least = 1;
    for (size_t w = 0; w < found[i].words.size(); ++w) {
      const double word = sure.items()[w].as_double("confidences");
      CHECK(found[i].words[w].confidence.value() == doctest::Approx(word).epsilon(1e-3));
      least = std::min(least, word);
    }
    CHECK(found[i].confidence.value() == doctest::Approx(least).epsilon(1e-3));
  }
  for (const char* keys :
       {R"(, "decoding": {"confidence_cfg": {"preserve_word_confidence": false}})",
        R"(, "decoding": {"strategy": "beam_batch"})"}) {
    const auto unsure = host.make("ctc", kArchive, keys)->transcripts(clips);
    CHECK_FALSE(unsure[0].text.empty());
    CHECK_FALSE(unsure[0].confidence.has_value());
    CHECK_FALSE(unsure[0].words[0].confidence.has_value());
  }
}

TEST_CASE("every word of pieces has a confidence, and a lone mark belongs to the next word") {
  Host host;
  const TemporaryFolder folder;
  write_parakeet(folder, "ctc");
  const ReferenceFile file = read_reference(kData + "hf_parakeet_ctc.safetensors");
  const int64_t length = file.input("lengths")[0].item<int64_t>();
  const AudioClip clip{file.input("audio")[0].narrow(0, 0, length), 16000};
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t id = file.output("ids")[0][i + 1].item<int64_t>();
    const std::string mark = "\u2581";
    for (const std::string& piece : {mark + static_cast<char>('a' + id), mark}) {
      folder.write("tokenizer.json", tokenizer_json(id, piece));
      const auto found = host.make("ctc", folder.path().string())->transcripts({clip});
      REQUIRE(found[0].words.size() > 1);
      for (const RecognizedWord& word : found[0].words) {
        REQUIRE(word.confidence.has_value());
        CHECK(*word.confidence >= found[0].confidence.value());
      }
    }
  }
}

TEST_CASE("beam searches of Parakeet find texts, and a beam of one CTC text is the greedy one") {
  Host host;
  const ReferenceFile file = read_reference(kData + "hf_parakeet_tdt.safetensors");
  const int64_t length = file.input("lengths")[0].item<int64_t>();
  const std::vector<AudioClip> clip = {{file.input("audio")[0].narrow(0, 0, length), 16000}};
  const TemporaryFolder tdt, ctc;
  write_parakeet(tdt, "tdt");
  write_parakeet(ctc, "ctc");
  for (const char* strategy : {"beam", "malsd_batch", "maes"}) {
    CAPTURE(std::string(strategy));
    const std::string keys = R"(, "decoding": {"strategy": ")" + std::string(strategy) +
                             R"(", "beam": {"beam_size": 2}})";
    CHECK_FALSE(host.make("transducer", tdt.path().string(), keys)->transcribe(clip)[0].empty());
  }
  const auto greedy = host.make("ctc", ctc.path().string())->transcribe(clip);
  const auto beam =
      host.make("ctc", ctc.path().string(),
                R"(, "decoding": {"strategy": "beam_batch", "beam": {"beam_size": 1}})")
          ->transcribe(clip);
  CHECK(beam == greedy);
}
