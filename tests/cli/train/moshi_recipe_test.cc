// core/docs/guides/fine_tune_moshi.md with small random weights: stereo recordings, transcripts of
// a recognizer, data, ten steps, an answer. CSM's part: data, five steps, speech.

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <sndfile.h>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "common/places.h"
#include "compare/reference_file.h"

using namespace s2s::test;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

const std::string kReferenceFolder = source_dir() + "/tests/reference/data/";

/// Both clips of the recognizer's reference file, one in each channel.
void write_stereo(const fs::path& path, bool is_swapped = false) {
  const s2s::ReferenceFile file =
      s2s::read_reference(kReferenceFolder + "nemo_asr_ctc.safetensors");
  const at::Tensor clips_CS = file.input("audio").narrow(1, 0, 9333).clamp(-1, 1);
  const at::Tensor samples_SC = (is_swapped ? clips_CS.flip({0}) : clips_CS).t().contiguous();
  SF_INFO info = {};
  info.samplerate = 16000;
  info.channels = 2;
  info.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  SNDFILE* const out = sf_open(path.c_str(), SFM_WRITE, &info);
  REQUIRE(out != nullptr);
  sf_writef_float(out, samples_SC.data_ptr<float>(), samples_SC.size(0));
  sf_close(out);
}

Words transcription(const fs::path& calls) {
  return {"transcribe", calls.string(), "--scorer",
          "ctc",        "--path",       kReferenceFolder + "recognizer.nemo",
          "--format",   "alignments"};
}

std::string printed(const Words& words) {
  const Outcome result = run_s2s(words);
  REQUIRE_MESSAGE(result.exit_code == 0, result.output);
  return result.output;
}

/// What each speaker says, of rows with a label and a text.
template <class Rows, class Label, class Text>
std::map<std::string, std::string> said(const Rows& rows, const Label& label, const Text& text) {
  std::map<std::string, std::string> all;
  for (const json& row : rows) {
    std::string& words = all[row[label]];
    words += (words.empty() ? "" : " ") + row[text].template get<std::string>();
  }
  return all;
}

}  // namespace

TEST_CASE("transcribe writes the transcripts of stereo recordings, and data convert reads them") {
  const TemporaryFolder folder;
  const fs::path calls = folder.path() / "calls", cuts = folder.path() / "cuts.jsonl";
  fs::create_directories(calls);
  write_stereo(calls / "talk.wav");
  CHECK(contains(printed(transcription(calls)), "wrote 1 transcript\n"));
  const json words = json::parse(read_text(calls / "talk.json"))["alignments"];
  double before_s = 0;
  for (const json& word : words) {
    CHECK(word[1][0].get<double>() >= before_s);
    before_s = word[1][0];
  }
  const auto texts = said(words, 2, 0);
  REQUIRE(texts.size() == 2);
  printed({"data", "convert", calls.string(), cuts.string()});
  const auto turns = said(json::parse(read_text(cuts))["supervisions"], "speaker", "text");
  CHECK(turns.at("agent") == texts.at("SPEAKER_MAIN"));
  CHECK(turns.at("user") == texts.at("SPEAKER_USER"));

  CHECK(contains(printed(transcription(calls)), "wrote 0 transcripts, kept 1 (--force"));
  const fs::path other = folder.path() / "other/transcripts";
  printed(with(transcription(calls), {"--agent-channel", "1", "-o", other.string()}));
  const json same = json::parse(read_text(other / "talk.json"))["alignments"];
  CHECK(said(same, 2, 0).at("SPEAKER_USER") == texts.at("SPEAKER_MAIN"));
}

TEST_CASE("Moshi is fine-tuned on stereo recordings and answers") {
  const TemporaryFolder folder;
  const fs::path calls = folder.path() / "calls";
  const std::string cuts = (folder.path() / "cuts.jsonl.gz").string();
  const std::string run = (folder.path() / "run").string();
  fs::create_directories(calls);
  for (const char* name : {"a.wav", "b.wav"}) write_stereo(calls / name);
  printed(transcription(calls));
  printed({"data", "convert", calls.string(), cuts});
  write_text(folder.path() / "texts.txt", "a b c d e f g h i j k l m n o p q r s t u v w x y z\n");
  const std::string output = printed(
      {"train", source_dir() + "/configs/moshi.yaml",
       "model.path=" + kReferenceFolder + "kyutai_moshi",
       "model.codec={name: mimi, num_codebooks: 4, num_quantizers: 4, num_filters: 4, "
       "hidden_size: 32, codebook_size: 16, codebook_dim: 8, upsample_groups: 32, "
       "vector_quantization_hidden_dimension: 8, num_hidden_layers: 1, intermediate_size: 32, "
       "num_attention_heads: 2, num_key_value_heads: 2}",
       "model.tokenizer.path=" + (folder.path() / "tokenizer.model").string(),
       "model.tokenizer.train={input: " + (folder.path() / "texts.txt").string() +
           ", model_type: char, vocab_size: 40}",
       "model.lora.r=4", "model.lora.lora_alpha=8", "~data.synth",
       "data.train_ds.cuts_path=" + cuts, "data.validation_ds.datasets.dev.cuts_path=" + cuts,
       "data.train_ds.batch_size=2", "trainer.accelerator=cpu", "trainer.max_steps=10",
       "model.lr_scheduler.warmup_steps=1", "trainer.val_check_interval=10",
       "exp_manager.explicit_log_dir=" + run});
  CHECK(contains(output, "validation of dev after 10 steps"));
  const auto lines = metrics(run);
  REQUIRE(lines.size() == 11);
  CHECK(lines[9]["text_loss"].get<double>() < 1.01 * lines[0]["text_loss"].get<double>());
  CHECK(fs::exists(fs::path(run) / "checkpoints/step=10"));
  const std::string answers = (folder.path() / "answers").string();
  printed({"generate", "--checkpoint", run, "--input", (calls / "a.wav").string(), "--output",
           answers});
  CHECK(fs::file_size(answers + "/000_a.wav") > 24000);
  CHECK(!contains(read_text(answers + "/answers.jsonl"), "\u2047"));
}

namespace {

/// CSM with small random weights and a small Mimi, on the agent's texts of `cuts`.
void write_csm_config(const fs::path& file, const fs::path& folder) {
  write_text(file, R"(
model:
  type: csm
  vocab_size: 18
  text_vocab_size: 40
  hidden_size: 32
  intermediate_size: 48
  num_hidden_layers: 1
  num_attention_heads: 2
  num_key_value_heads: 2
  num_codebooks: 4
  initializer_range: 0.2
  audio_token_id: 38
  audio_eos_token_id: 39
  codebook_eos_token_id: 17
  speaker_id: 0
  depth_decoder: { hidden_size: 16, intermediate_size: 24, num_hidden_layers: 1,
    num_attention_heads: 2, num_key_value_heads: 2, initializer_range: 0.2 }
  codec: { name: mimi, num_codebooks: 4, num_quantizers: 4, num_filters: 4, hidden_size: 32,
    codebook_size: 16, codebook_dim: 8, upsample_groups: 32, num_hidden_layers: 1,
    vector_quantization_hidden_dimension: 8, intermediate_size: 32, num_attention_heads: 2,
    num_key_value_heads: 2 }
  tokenizer:
    name: sentencepiece
    path: ")" + (folder / "csm_tokenizer.model").string() +
                       R"("
    train: { input: ")" +
                       (folder / "letters.txt").string() + R"(", model_type: char, vocab_size: 38 }
  scoring_asr: { name: ctc, path: ")" +
                       kReferenceFolder + R"(recognizer.nemo" }
  optimizer: { name: adamw, lr: 1e-3 }
  lr_scheduler: { name: cosine_annealing, warmup_steps: 0, max_steps: "${trainer.max_steps}" }
data:
  source_sample_rate: 24000
  target_sample_rate: 24000
  train_ds: { name: cuts, cuts_path: ")" +
                       (folder / "cuts.jsonl").string() + R"(", batch_size: 1 }
  validation_ds: { name: cuts, batch_size: 2, datasets: { dev: { cuts_path: ")" +
                       (folder / "cuts.jsonl").string() + R"(" } } }
trainer: { accelerator: cpu, max_steps: 5, val_check_interval: 5, strategy: { name: single } }
exp_manager: { explicit_log_dir: ")" +
                       (folder / "run").string() + R"(" }
)");
}

/// A run of CSM of five steps.
const fs::path& trained_csm() {
  static const TemporaryFolder folder;
  static const fs::path run = [] {
    const fs::path calls = folder.path() / "calls";
    fs::create_directories(calls);
    write_stereo(calls / "talk.wav");
    write_stereo(calls / "other.wav", /*is_swapped=*/true);
    printed(transcription(calls));
    printed({"data", "convert", calls.string(), (folder.path() / "cuts.jsonl").string()});
    write_text(folder.path() / "letters.txt",
               "a b c d e f g h i j k l m n o p q r s t u v w x y z [ ] 0 1\n");
    write_csm_config(folder.path() / "csm.yaml", folder.path());
    printed({"train", (folder.path() / "csm.yaml").string()});
    return folder.path() / "run";
  }();
  return run;
}

Outcome spoken_by_csm(const Words& more) {
  return run_s2s(with({"generate", "--checkpoint", trained_csm().string()}, more));
}

std::vector<json> answers_in(const fs::path& folder) {
  std::vector<json> lines;
  std::istringstream text(read_text(folder / "answers.jsonl"));
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

const char* const kTurns = R"({"messages": [
  {"role": "1", "content": [{"type": "text", "text": "what is it"},
                            {"type": "audio", "path": "calls/talk.wav"}]},
  {"role": "0", "content": [{"type": "text", "text": "yes"}]}]})";

/// One line of JSON.
std::string one_line(std::string text) {
  std::erase(text, '\n');
  return text + "\n";
}

}  // namespace

TEST_CASE("CSM is trained on the agent's texts, is listened to, and speaks") {
  const TemporaryFolder out;
  const auto lines = metrics(trained_csm());
  REQUIRE(lines.size() == 6);
  CHECK(lines[5].at("validation") == "dev");
  CHECK(lines[5].at("asr_wer").get<double>() > 0);
  const fs::path data = trained_csm().parent_path();
  write_text(data / "turns.jsonl", one_line(kTurns) + "{\"prompt\": \"[1]yes\"}\n");
  const Outcome outcome = spoken_by_csm({"--prompt", "yes", "--prompt", "[0]yes", "--input",
                                         (data / "turns.jsonl").string(), "--output", out / "a",
                                         "--max-new-tokens", "10"});
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  const std::vector<json> answers = answers_in(out.path() / "a");
  REQUIRE(answers.size() == 4);
  for (const json& answer : answers) {
    const size_t frames = answer.at("audio_tokens").size();
    CHECK(frames <= 10);
    CHECK(fs::file_size(out.path() / "a" / answer.at("output").get<std::string>()) ==
          44 + 2 * 1920 * frames);
    CHECK(answer.at("seconds").get<double>() ==
          doctest::Approx(0.08 * static_cast<double>(frames)));
  }
  CHECK(answers[2].at("prompt") == "[0]yes");
  CHECK(answers[0].at("audio_tokens") == answers[1].at("audio_tokens"));  // speaker_id
  CHECK(answers[0].at("audio_tokens") != answers[2].at("audio_tokens"));  // turns before it
  CHECK(answers[0].at("audio_tokens") != answers[3].at("audio_tokens"));  // another speaker
}

TEST_CASE("several ranks validate what CSM says as one process") {
  const TemporaryFolder out;
  const Words validate = {"validate", "--checkpoint", trained_csm().string(),
                          "data.validation_ds.batch_size=1"};
  const Words on_two = {"launch", "local", "-n", "2", "--"};
  printed(with(validate, {"--report", out / "one"}));
  const std::string one = read_text(out.path() / "one/predictions.jsonl");
  CHECK(std::count(one.begin(), one.end(), '\n') == 2);
  CHECK(contains(one, "heard_model"));
  for (const char* strategy : {"{name: fsdp}", "{name: model_parallel, tensor_parallel_size: 2}"}) {
    CAPTURE(std::string(strategy));
    printed(with(with(on_two, validate), {"--report", out / "two", "--force", "trainer.devices=2",
                                          "trainer.strategy=" + std::string(strategy)}));
    CHECK(read_text(out.path() / "two/predictions.jsonl") == one);
  }
}

TEST_CASE("what CSM cannot speak ends in one message") {
  const TemporaryFolder out;
  const auto refused = [&](const Words& more, int exit_code, const std::string& text) {
    const Outcome outcome = spoken_by_csm(with(more, {"--output", out / "b"}));
    CHECK(outcome.exit_code == exit_code);
    CHECK_MESSAGE(contains(outcome.output, text), outcome.output);
    CHECK_FALSE(fs::exists(out.path() / "b"));
  };
  refused({}, 2, "a model of type csm needs --prompt TEXT");
  refused({"--prompt", "[agent]yes"}, 5, "[data/spoken-text] --prompt: '[agent]yes' begins with");
  refused({"--prompt", "[0"}, 5, "data/spoken-text");
  refused({"--prompt", "[0] "}, 5, "there is no text");
  refused({"--prompt", "yes", "--num-beams", "2"}, 2, "--num-beams is for models that write text");
  refused({"--input", "talk.wav"}, 3, "model/capability");
  const auto refused_turns = [&](const std::string& from, const std::string& to,
                                 const std::string& text) {
    std::string turns = kTurns;
    turns.replace(turns.find(from), from.size(), to);
    const fs::path file = trained_csm().parent_path() / "bad.jsonl";
    write_text(file, one_line(turns));
    refused({"--input", file.string()}, 5, text);
  };
  refused_turns("calls/talk.wav", "calls/gone.wav", "calls/gone.wav");
  refused_turns(R"("role": "1")", R"("role": "user")", "\"role\" is not the number of a speaker");
  refused_turns(R"("type": "audio")", R"("type": "image")", "[data/spoken-turns]");
  refused_turns(R"({"type": "text", "text": "yes"})",
                R"({"type": "text", "text": "yes"}, {"type": "audio", "path": "calls/talk.wav"})",
                "it is the turn to speak, but has audio");
  refused_turns(R"("text": "yes")", R"("text": "")", "there is no text");
  const Outcome nowhere = spoken_by_csm({"--prompt", "yes"});
  CHECK(nowhere.exit_code == 2);
  CHECK(contains(nowhere.output, "needs --output FOLDER"));
}
