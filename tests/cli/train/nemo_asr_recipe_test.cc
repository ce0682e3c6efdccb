// NeMo's example configurations of speech recognizers, whole, with data of this machine.

#include <doctest/doctest.h>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "common/places.h"

using namespace s2s::test;

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const char* const kRecipes[] = {"fastconformer_transducer_bpe", "fastconformer_ctc_bpe",
                                "fastconformer_hybrid_tdt_ctc_bpe"};

std::string recipe(const std::string& name) {
  return source_dir() + "/tests/cli/train/nemo_configs/" + name + ".yaml";
}

/// A NeMo manifest of two recordings of the shared set, 16-bit audio at 16 kHz.
std::string manifest(const TemporaryFolder& folder) {
  std::string lines;
  int count = 0;
  for (const auto& file : fs::recursive_directory_iterator(tiny_set() / "audio")) {
    if (!file.path().string().ends_with("_user.wav") || ++count > 2) continue;
    const double seconds = static_cast<double>(file.file_size() - 44) / 32000;
    const json line = {{"audio_filepath", file.path().string()},
                       {"duration", seconds},
                       {"text", "the cat has seen it"}};
    lines += line.dump() + "\n";
  }
  REQUIRE(count >= 2);
  write_text(folder.path() / "manifest.json", lines);
  return folder / "manifest.json";
}

/// The folder of a tokenizer, as NeMo's script makes it.
std::string tokenizer(const TemporaryFolder& folder) {
  const fs::path place = folder.path() / "tokenizer";
  fs::create_directories(place);
  fs::copy_file(source_dir() + "/tests/reference/data/sentencepiece_bpe.model",
                place / "tokenizer.model", fs::copy_options::overwrite_existing);
  return place.string();
}

/// What users of these files write: their data, a machine, and a small and short run.
Words small_run(const TemporaryFolder& folder) {
  const std::string data = manifest(folder);
  return {"model.train_ds.manifest_filepath=" + data,
          "model.validation_ds.manifest_filepath=" + data,
          "model.tokenizer.dir=" + tokenizer(folder),
          "model.train_ds.batch_size=2",
          "model.train_ds.max_duration=30",
          "model.train_ds.num_workers=1",
          "model.preprocessor.features=16",
          "model.spec_augment.freq_width=4",
          "model.encoder.n_layers=1",
          "model.encoder.d_model=16",
          "model.encoder.n_heads=2",
          "model.encoder.subsampling_conv_channels=4",
          "model.optim.sched.warmup_steps=1",
          "~trainer.max_epochs",
          "~trainer.sync_batchnorm",
          "trainer.max_steps=2",
          "trainer.accelerator=cpu",
          "trainer.devices=1",
          "trainer.val_check_interval=2",
          "trainer.limit_val_batches=1",
          "exp_manager.explicit_log_dir=" + (folder.path() / "run").string()};
}

Words sizes_of_transducer(const std::string& name) {
  if (name == "fastconformer_ctc_bpe") return {};
  return {"model.model_defaults.pred_hidden=8", "model.model_defaults.joint_hidden=8"};
}

}  // namespace

TEST_CASE("a recipe of a recognizer of NeMo's, as it is, is told what to write and nothing else") {
  for (const std::string name : kRecipes) {
    CAPTURE(name);
    const Outcome result = run_s2s({"config", "check", recipe(name), "--json"});
    CHECK(result.exit_code == 3);
    for (const char* key : {"train_ds.manifest_filepath", "manifest_filepath", "tokenizer.path",
                            "'max_epochs'", "'sync_batchnorm'"}) {
      CHECK_MESSAGE(contains(result.output, key), key << " " << result.output);
    }
    size_t unknown_keys = 0;
    const json report = json::parse(result.output);
    for (const auto& finding : report["findings"]) {
      unknown_keys += finding["id"] == "config/unknown-key";
    }
    CHECK_MESSAGE(unknown_keys == 2, result.output);
  }
}

TEST_CASE("recipes of recognizers of NeMo's train") {
  for (const std::string name : kRecipes) {
    CAPTURE(name);
    const TemporaryFolder folder;
    const Words more = with(small_run(folder), sizes_of_transducer(name));
    const Outcome result = run_s2s(with({"train", recipe(name)}, more));
    REQUIRE_MESSAGE(result.exit_code == 0, result.output);
    CHECK(num_steps_logged(folder.path() / "run") == 2);
    CHECK(metrics(folder.path() / "run").back().contains("wer"));
  }
}

TEST_CASE("keys of a recipe are options here") {
  const TemporaryFolder folder;
  const std::string name = "fastconformer_hybrid_tdt_ctc_bpe";
  const Outcome result = run_s2s(with({"config", "show", recipe(name), "--json"},
                                      with(small_run(folder), sizes_of_transducer(name))));
  CAPTURE(result.output);
  const json config = json::parse(result.output.substr(result.output.find('{')))["config"];
  const json& model = config["model"];
  CHECK(model["type"] == "asr");
  CHECK(model["decoder"] == "transducer");
  CHECK(model["transducer"]["durations"] == json({0, 1, 2, 3, 4}));
  CHECK(model["transducer"]["sigma"] == 0.02);
  CHECK(model["transducer"]["omega"] == 0.1);
  CHECK(model["transducer"]["pred_dropout"] == 0.2);
  CHECK(model["transducer"]["max_symbols"] == 10);
  CHECK(model["ctc_loss_weight"] == 0.3);
  CHECK(model["encoder"]["encoder"]["d_model"] == 16);
  CHECK(model["encoder"]["spec_augment"]["time_masks"] == 10);
  CHECK(model["optimizer"]["lr"] == 5.0);
  CHECK(model["lr_scheduler"]["name"] == "noam_annealing");
  CHECK(model["lr_scheduler"]["d_model"] == 16);
  CHECK(model["lr_scheduler"]["max_steps"] == 2);
  CHECK(config["data"]["source_sample_rate"] == 16000);
  CHECK(config["data"]["train_ds"]["min_duration"] == 0.1);
  CHECK(config["data"]["validation_ds"]["datasets"].contains("validation"));
}

TEST_CASE("our blocks may complete those of a recipe") {
  const Outcome result =
      run_s2s({"config", "show", recipe("fastconformer_ctc_bpe"), "--json",
               "trainer.max_steps=20000", "~trainer.max_epochs", "~trainer.sync_batchnorm",
               "data.train_ds.manifest_filepath=a.json", "data.train_ds.batch_duration=300",
               "data.validation_ds.datasets.validation.manifest_filepath=b.json",
               "model.tokenizer.path=pieces.model"});
  CAPTURE(result.output);
  const json config = json::parse(result.output.substr(result.output.find('{')))["config"];
  CHECK(config["data"]["train_ds"]["manifest_filepath"] == "a.json");
  CHECK(config["data"]["train_ds"]["batch_duration"] == 300);
  CHECK(config["data"]["train_ds"]["max_duration"] == 16.7);
  CHECK(config["data"]["validation_ds"]["datasets"]["validation"]["batch_size"] == 16);
  CHECK(config["model"]["tokenizer"]["name"] == "sentencepiece");
  CHECK(config["model"]["tokenizer"]["path"] == "pieces.model");
}

TEST_CASE("keys of a recipe that change what is trained, and are not here, are refused together") {
  const TemporaryFolder folder;
  const std::string name = "fastconformer_hybrid_tdt_ctc_bpe";
  const Outcome result = run_s2s(
      with({"config", "check", recipe(name)},
           with(with(small_run(folder), sizes_of_transducer(name)),
                {"model.loss.tdt_kwargs.fastemit_lambda=0.01", "model.interctc.loss_weights=[0.3]",
                 "model.decoder.random_state_sampling=true", "model.decoding.strategy=maes",
                 "model.aux_ctc.ctc_reduction=mean_volume", "model.tokenizer.type=wpe",
                 "model.joint.jointnet.extra=1"})));
  CHECK(result.exit_code == 3);
  CHECK(contains(result.output, "[model/translate]"));
  for (const char* key :
       {"model.loss.tdt_kwargs.fastemit_lambda", "model.interctc.loss_weights",
        "model.decoder.random_state_sampling", "model.decoding.strategy",
        "model.aux_ctc.ctc_reduction", "model.tokenizer.type", "model.joint.jointnet.extra"}) {
    CHECK_MESSAGE(contains(result.output, key), key << " " << result.output);
  }
}
