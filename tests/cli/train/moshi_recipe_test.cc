// core/docs/guides/fine_tune_moshi.md with small random weights: stereo recordings, transcripts of
// a recognizer, data, ten steps, an answer.

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
void write_stereo(const fs::path& path) {
  const s2s::ReferenceFile file =
      s2s::read_reference(kReferenceFolder + "nemo_asr_ctc.safetensors");
  const at::Tensor samples_SC =
      file.input("audio").narrow(1, 0, 9333).clamp(-1, 1).t().contiguous();
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
