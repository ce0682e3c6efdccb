// A codec: training with discriminators, exact resume, the listening report, and the export that
// the codec plugin `encodec` reads.

#include <doctest/doctest.h>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "common/places.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

/// Words of a run of configs/codec.yaml with a small model on the shared set.
Words codec_words(const std::string& command, const fs::path& folder, const Words& more = {}) {
  return with(
      {command, source_dir() + "/configs/codec.yaml", "~data.synth",
       "codec.data=" + tiny_set().string(), "codec.run=" + (folder / "run").string(),
       "model.tokenizer.train.input=" + (tiny_set() / "texts.txt").string(), "model.num_filters=2",
       "model.hidden_size=8", "model.codebook_size=16",
       "model.discriminator={periods: [2], period_channels: [4, 4], window_lengths: [256], "
       "stft_bands: [0, 1], stft_channels: 2}",
       "data.train_ds.batch_size=2", "trainer.max_steps=4", "model.lr_scheduler.warmup_steps=1",
       "trainer.val_check_interval=4", "trainer.limit_val_batches=1",
       "exp_manager.checkpoint_callback_params.every_n_train_steps=2"},
      more);
}

/// A run of four steps.
const fs::path& trained_codec_run() {
  static const TemporaryFolder folder;
  static const fs::path place = [] {
    const Outcome outcome = run_s2s(codec_words("train", folder.path()));
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    return folder.path() / "run";
  }();
  return place;
}

}  // namespace

TEST_CASE("configs/codec.yaml trains a codec, and validation measures whole recordings") {
  const auto lines = metrics(trained_codec_run());
  REQUIRE(lines.size() == 6);
  CHECK(lines[0].contains("disc_loss"));
  CHECK(lines[0].contains("feature_loss"));
  CHECK(lines[0]["perplexity"].get<double>() >= 1);
  for (size_t i = 4; i < 6; ++i) {
    CHECK(lines[i]["mel_distance"].get<double>() > 0);
    CHECK(lines[i]["stft_loss"].get<double>() > 0);
    CHECK(lines[i].contains("asr_wer"));
  }
}

TEST_CASE("a codec whose training was killed goes on with the same codebooks and weights") {
  const TemporaryFolder folder;
  copy_as_killed(trained_codec_run(), folder.path() / "run", 2);
  const Outcome rest = run_s2s(codec_words("train", folder.path()));
  REQUIRE_MESSAGE(rest.exit_code == 0, rest.output);
  check_same_run(folder.path() / "run", trained_codec_run());
  CHECK(weights(trained_codec_run()).contains("codec.quantizer.layers.0.codebook.embed"));
}

TEST_CASE("a codec's report has the recordings and what it makes of them") {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_s2s({"validate", "--checkpoint", (trained_codec_run() / "checkpoints/last").string(),
               "--limit-batches", "1", "--report", folder / "report"});
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  CHECK(contains(outcome.output, "mel_distance"));
  CHECK(fs::exists(folder.path() / "report" / "index.html"));
}

TEST_CASE("a codec is exported without its discriminators, for the codec encodec") {
  const TemporaryFolder folder;
  const std::string out = folder / "hf";
  const Outcome exported = run_s2s({"checkpoint", "export", trained_codec_run().string(), out});
  REQUIRE_MESSAGE(exported.exit_code == 0, exported.output);
  CHECK(contains(read_text(fs::path(out) / "config.json"), "EncodecModel"));
  const auto file = s2s::SafetensorsFile::open(out + "/model.safetensors");
  CHECK(file.contains("quantizer.layers.3.codebook.embed"));
  CHECK(file.contains("encoder.layers.0.conv.weight_v"));
  CHECK(!file.contains("quantizer.pending"));
  for (const auto& [name, entry] : file.entries()) CHECK(!contains(name, "discriminator"));
  const Outcome check = run_s2s(tiny_words(
      "train", folder.path(),
      {"~model.codec.sample_rate", "model.codec.name=encodec", "model.codec.path=" + out,
       "model.codec_frames=2", "trainer.max_steps=1", "model.lr_scheduler.warmup_steps=0"}));
  CHECK_MESSAGE(check.exit_code == 0, check.output);
}

TEST_CASE("a model with a frozen codec has scores of what it says, not of the codec's round trip") {
  const TemporaryFolder folder;
  train_tiny(folder.path() / "run",
             {"~model.llm", "~model.encoder", "model.type=csm", "model.vocab_size=1001",
              "model.text_vocab_size=300", "model.num_codebooks=8", "model.audio_token_id=298",
              "model.audio_eos_token_id=299", "model.codebook_eos_token_id=1000",
              "model.hidden_size=16", "model.intermediate_size=16", "model.num_hidden_layers=1",
              "model.num_attention_heads=2", "model.num_key_value_heads=2",
              "model.depth_decoder={hidden_size: 16, intermediate_size: 16, num_hidden_layers: 1, "
              "num_attention_heads: 2, num_key_value_heads: 2}",
              "model.scoring_asr=pocketsphinx", "trainer.max_steps=5"});
  const auto lines = metrics(folder.path() / "run");
  REQUIRE(lines.size() == 6);
  CHECK(lines[5].contains("backbone_loss"));
  CHECK(lines[5].at("asr_wer").get<double>() > 0.5);
  CHECK(!lines[5].contains("mel_distance"));
}
