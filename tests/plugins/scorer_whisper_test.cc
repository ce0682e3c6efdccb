// Whisper as a scorer: folders, clips, times of words, and what it refuses. tests/reference
// compares ids, scores and times with transformers.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

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

// Shape letters: B clips, S samples.

using namespace s2s;
using namespace s2s::test;

namespace {

using nlohmann::json;

const std::string kData = source_dir() + "/tests/reference/data/";

json whisper_texts() {
  std::ifstream file(kData + "whisper_texts.json");
  return json::parse(file);
}

/// A folder of transformers with the model of a reference file.
class WhisperFolder {
 public:
  explicit WhisperFolder(const std::string& name)
      : path_(kData + "hf_whisper_generate_" + name + ".safetensors"),
        file_(read_reference(path_)) {
    write_safetensors(folder_ / "model.safetensors", file_.weights);
    const SafetensorsFile file = SafetensorsFile::open(path_);
    model_ = json::parse(file.metadata().at("options"));
    generation_ = model_["generation_config"];
    model_.erase("generation_config");
    arguments_ = model_.value("generate", json::object());
    model_.erase("generate");
    folder_.write("preprocessor_config.json", file.metadata().at("preprocessor"));
    folder_.write("tokenizer.json", whisper_texts()["tokenizer"].dump());
    write();
  }
  /// Writes the files anew, with what a test has changed.
  void write() const {
    folder_.write("config.json", model_.dump());
    folder_.write("generation_config.json", generation_.dump());
  }
  std::vector<AudioClip> clips() const {
    std::vector<AudioClip> clips;
    const at::Tensor lengths_B = file_.input("lengths");
    for (int64_t b = 0; b < lengths_B.size(0); ++b) {
      clips.push_back({file_.input("audio")[b].narrow(0, 0, lengths_B[b].item<int64_t>()), 16000});
    }
    return clips;
  }
  at::Tensor output(const std::string& name) const { return file_.output(name); }
  std::unique_ptr<Scorer> make(const std::string& keys = "") {
    ScorerContext context;
    context.path = "model.scoring_asr";
    const std::string text =
        R"({"name": "whisper", "path": ")" + folder_.path().string() + "\"" + keys + "}";
    return plugins_.create<Scorer>(parse_json(text, "scorer"), context);
  }
  /// What the folder is refused with.
  std::string refusal(const std::string& keys = "") {
    write();
    try {
      make(keys);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  /// The arguments of transformers' generate, as further keys of a scorer.
  std::string arguments() const {
    std::string keys;
    for (const auto& [key, value] : arguments_.items()) {
      keys += ", \"" + key + "\": " + value.dump();
    }
    return keys;
  }

  json model_, generation_, arguments_;
  const TemporaryFolder folder_;

 private:
  std::string path_;
  ReferenceFile file_;
  BuiltPlugins plugins_;
};

/// The texts of transformers, as scorers give them.
std::vector<std::string> texts_of(const std::string& name) {
  std::vector<std::string> texts;
  const json all = whisper_texts();
  for (const std::string spaced : all["texts"][name]) {
    const size_t begin = spaced.find_first_not_of(' ');
    texts.push_back(begin == std::string::npos ? "" : spaced.substr(begin));
  }
  return texts;
}

}  // namespace

TEST_CASE("folders of Whisper transcribe as transformers does, one by one and side by side") {
  for (const std::string name : {"plain", "detect", "timestamps", "long"}) {
    CAPTURE(name);
    WhisperFolder folder(name);
    std::vector<AudioClip> clips = folder.clips();
    clips.insert(clips.begin() + 1, {at::zeros({20000}), 16000});
    std::vector<std::string> expected = texts_of(name);
    expected.insert(expected.begin() + 1, "");
    for (const char* keys : {"", R"(, "batch_size": 1)"}) {
      CHECK(folder.make(keys)->transcribe(clips) == expected);
    }
  }
}

TEST_CASE("options choose the language and whether there are timestamps") {
  WhisperFolder folder("plain");
  const auto texts = folder.make()->transcribe(folder.clips());
  folder.generation_.erase("language");
  folder.generation_.erase("task");
  folder.write();
  for (const char* german : {"German", "de", "<|de|>"}) {
    const std::string keys = R"(, "task": "translate", "language": ")" + std::string(german) + "\"";
    CHECK(folder.make(keys)->transcribe(folder.clips()) == texts);
  }
  WhisperFolder timed("timestamps");
  timed.generation_.erase("return_timestamps");
  timed.write();
  CHECK(timed.make(R"(, "return_timestamps": true)")->transcribe(timed.clips()) ==
        texts_of("timestamps"));
}

TEST_CASE("thresholds say which windows are silent") {
  WhisperFolder folder("plain");
  const std::string all = R"(, "no_speech_threshold": 0, "logprob_threshold": 0)";
  CHECK(folder.make(all)->transcribe(folder.clips()) == std::vector<std::string>(2));
  const std::string none = R"(, "no_speech_threshold": 1, "logprob_threshold": 0)";
  CHECK(folder.make(none)->transcribe(folder.clips()) == texts_of("plain"));
  CHECK(contains(folder.refusal(R"(, "logprob_threshold": -1)"), "no_speech_threshold"));
}

TEST_CASE("windows are written again, and read what was written before them, as in transformers") {
  for (const std::string name : {"fallback", "conditioned"}) {
    CAPTURE(name);
    WhisperFolder folder(name);
    for (const char* keys : {"", R"(, "batch_size": 1)"}) {
      CHECK(folder.make(folder.arguments() + keys)->transcribe(folder.clips()) == texts_of(name));
    }
  }
  WhisperFolder folder("conditioned");
  const std::string all = R"(, "condition_on_prev_tokens": true, "prompt_ids": [28, 6],
                               "prompt_condition_type": "all-segments")";
  CHECK(folder.make(all)->transcribe(folder.clips()) == texts_of("all_segments"));
}

TEST_CASE("a seed repeats what is drawn; another one draws something else") {
  WhisperFolder folder("fallback");
  const std::string hot = R"(, "temperature": [1.5], "top_k": 0)";
  const auto texts = folder.make(hot)->transcribe(folder.clips());
  CHECK(folder.make(hot)->transcribe(folder.clips()) == texts);
  CHECK(folder.make(hot + R"(, "seed": 1)")->transcribe(folder.clips()) != texts);
}

TEST_CASE("texts and words have a confidence, from the probabilities of their ids") {
  WhisperFolder folder("long");
  const auto found = folder.make()->transcripts(folder.clips());
  const at::Tensor expected_B = folder.output("confidence");
  for (size_t i = 0; i < found.size(); ++i) {
    REQUIRE(found[i].confidence.has_value());
    const double expected = expected_B[static_cast<int64_t>(i)].item<double>();
    CHECK(*found[i].confidence == doctest::Approx(expected).epsilon(1e-4));
    REQUIRE(!found[i].words.empty());
    for (const RecognizedWord& word : found[i].words) {
      REQUIRE(word.confidence.has_value());
      CHECK(*word.confidence > 0);
      CHECK(*word.confidence <= 1);
    }
  }
  const auto silent = folder.make()->transcripts({{at::zeros({20000}), 16000}});
  CHECK(!silent[0].confidence.has_value());
}

TEST_CASE("words have times, which need alignment_heads") {
  WhisperFolder folder("long");
  for (const Transcript& transcript : folder.make()->transcripts(folder.clips())) {
    std::string joined;
    for (const RecognizedWord& word : transcript.words) {
      joined += (joined.empty() ? "" : " ") + word.text;
      CHECK(word.start_s >= 0);
      CHECK(word.end_s >= word.start_s);
      CHECK(word.end_s < 3.4);
    }
    CHECK(joined == transcript.text);
    CHECK(transcript.words.back().end_s > 0.5);
  }
  folder.generation_.erase("alignment_heads");
  folder.write();
  const std::vector<Transcript> plain = folder.make()->transcripts(folder.clips());
  CHECK(plain[0].text == texts_of("long")[0]);
  CHECK(plain[0].words.empty());
}

TEST_CASE("Whisper keeps what scorers promise") {
  WhisperFolder folder("plain");
  CHECK(conformance::broken_promises(*folder.make()).empty());
  CHECK(folder.make()->transcribe({}).empty());
}

TEST_CASE("Whisper says what is wrong with a folder") {
  WhisperFolder folder("plain");
  const std::string unknown = folder.refusal(R"(, "language": "klingon")");
  CHECK(contains(unknown, "[scorer/language]"));
  CHECK(contains(unknown, "expected one of de, en, fr"));
  CHECK(contains(folder.refusal(R"(, "language": "spanish")"), "[scorer/language]"));
  CHECK(contains(folder.refusal(R"(, "task": "summarize")"), "[scorer/task]"));

  for (const char* key : {"no_timestamps_token_id", "max_length", "decoder_start_token_id"}) {
    const json kept = folder.generation_[key];
    folder.generation_.erase(key);
    const std::string message = folder.refusal();
    CHECK(contains(message, "[weights/config]"));
    CHECK(contains(message, key));
    CHECK(contains(message, "generation_config.json"));
    folder.generation_[key] = kept;
  }
  for (const auto& [key, value] : {std::pair{"num_beams", json(5)},
                                   {"typical_p", json(0.9)},
                                   {"compression_ratio_threshold", json(1.35)},
                                   {"no_speech_threshold", json(0.6)}}) {
    folder.generation_[key] = value;
    CHECK(contains(folder.refusal(), key));
    folder.generation_.erase(key);
  }
  folder.generation_["decoder_start_token_id"] = 22;
  CHECK(contains(folder.refusal(), "[scorer/special-token]"));
  folder.generation_["decoder_start_token_id"] = 21;
  CHECK(folder.refusal() == "no error");

  folder.model_["architectures"] = {"WhisperForAudioClassification"};
  CHECK(contains(folder.refusal(), "WhisperForConditionalGeneration"));
  folder.model_.erase("architectures");
  folder.model_["tie_word_embeddings"] = false;
  CHECK(contains(folder.refusal(), "tie_word_embeddings"));
  folder.model_["tie_word_embeddings"] = true;
  folder.model_["model_type"] = "wav2vec2";
  CHECK(contains(folder.refusal(), "model_type"));
  folder.model_["model_type"] = "whisper";
  write_safetensors(folder.folder_ / "model.safetensors", {{"model.extra", at::zeros({1})}});
  CHECK(contains(folder.refusal(), "[weights/mismatch]"));
  for (const char* name : {"tokenizer.json", "generation_config.json", "config.json"}) {
    std::filesystem::remove(folder.folder_ / name);
    try {
      folder.make();
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(contains(error.what(), name));
    }
  }
}

TEST_CASE("Whisper says which options of its search do not fit together") {
  WhisperFolder folder("conditioned");
  for (const auto& [keys, said] : {
           std::pair{R"("temperature": [])", "[scorer/fallback]"},
           {R"("compression_ratio_threshold": 1.35)", "[scorer/fallback]"},
           {R"("prompt_condition_type": "all-segments")", "[scorer/prompt]"},
           {R"("prompt_ids": [28, 4711])", "id 4711 is not in the vocabulary"},
           {R"("prompt_ids": [28,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1])",
            "max_target_positions leaves"},
           {R"("prompt_condition_type": "some")", "all-segments"},
           {R"("temperature": [-1.0])", "temperature"},
           {R"("no_speech_threshold": 0.5)", "logprob_threshold"},
       }) {
    CAPTURE(keys);
    CHECK(contains(folder.refusal(std::string(", ") + keys), said));
  }
  CHECK(folder.refusal(R"(, "temperature": [0.0, 0.2], "logprob_threshold": -1)") == "no error");
}

TEST_CASE("a model of English alone takes neither a language nor a task") {
  WhisperFolder folder("english");
  CHECK(contains(folder.refusal(R"(, "language": "en")"), "knows English alone"));
  CHECK(contains(folder.refusal(R"(, "task": "translate")"), "task 'translate'"));
}
