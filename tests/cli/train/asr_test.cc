// A speech recognizer as a user trains it, and then transcribes with it.

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "common/places.h"

using namespace s2s::test;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// configs/asr.yaml, cut to two steps of a small encoder on the shared set.
const fs::path& trained_recognizer() {
  static const TemporaryFolder folder;
  static const fs::path place = [] {
    const fs::path run = folder.path() / "run";
    const Outcome outcome = run_s2s(
        {"train", source_dir() + "/configs/asr.yaml", "~data.synth",
         "asr.data=" + tiny_set().string(), "asr.run=" + run.string(),
         "model.tokenizer.path=" + (folder.path() / "asr.model").string(),
         "model.tokenizer.train.vocab_size=60", "model.encoder.encoder.n_layers=1",
         "model.lr_scheduler.warmup_steps=0", "trainer.max_steps=2", "data.train_ds.batch_size=2",
         "trainer.limit_val_batches=1", "trainer.val_check_interval=2",
         "exp_manager.checkpoint_callback_params.every_n_train_steps=2"});
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    return run;
  }();
  return place;
}

std::string first_recording() {
  std::vector<std::string> found;
  for (const auto& file : fs::recursive_directory_iterator(tiny_set() / "audio")) {
    const std::string path = file.path().string();
    if (path.ends_with("_user.wav")) found.push_back(path);
  }
  REQUIRE(!found.empty());
  return *std::min_element(found.begin(), found.end());
}

}  // namespace

TEST_CASE("a validation of a recognizer has its loss and word errors") {
  std::ifstream in(trained_recognizer() / "metrics.jsonl");
  std::string line, last;
  while (std::getline(in, line)) last = line;
  const json validation = json::parse(last);
  CHECK(validation["loss"].get<double>() > 0);
  CHECK(validation["wer"].get<double>() > 0);
  const Outcome validated =
      run_s2s({"validate", trained_recognizer().string(), "--limit-batches", "1"});
  REQUIRE_MESSAGE(validated.exit_code == 0, validated.output);
  CHECK(contains(validated.output, "wer"));
}

TEST_CASE("the folder of a run transcribes with each of its decoders") {
  const std::string recording = first_recording();
  for (const char* decoder : {"transducer", "ctc"}) {
    const Outcome outcome = run_s2s({"transcribe", recording, "--scorer", decoder, "--path",
                                     trained_recognizer().string(), "--format", "json"});
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    CHECK(contains(outcome.output, "\"pred_text\""));
  }
  const fs::path checkpoint = trained_recognizer() / "checkpoints/last";
  const Outcome same = run_s2s({"transcribe", recording, "--path", checkpoint.string()});
  CHECK_MESSAGE(same.exit_code == 0, same.output);
  const Outcome local = run_s2s({"transcribe", recording, "--path", checkpoint.string(), "--set",
                                 "model_change.conformer.self_attention_model=rel_pos_local_attn",
                                 "--set", "model_change.conformer.att_context_size=[64,64]"});
  CHECK_MESSAGE(local.exit_code == 0, local.output);
}

TEST_CASE("a run of another model does not transcribe") {
  const TemporaryFolder folder;
  train_tiny(folder.path() / "run", {"trainer.max_steps=1", "model.lr_scheduler.warmup_steps=0"});
  const Outcome outcome =
      run_s2s({"transcribe", first_recording(), "--path", (folder.path() / "run").string()});
  CHECK(outcome.exit_code == 3);
  CHECK(contains(outcome.output, "[scorer/not-a-recognizer]"));
}
