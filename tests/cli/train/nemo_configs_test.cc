// NeMo speechlm2's example configurations, whole, with the parts and data of this machine.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "common/places.h"

using namespace s2s::test;

namespace {

namespace fs = std::filesystem;

std::string nemo_config(const std::string& name) {
  return source_dir() + "/tests/cli/train/nemo_configs/" + name + ".yaml";
}

/// A folder as Hugging Face writes it, without weights: config.json and a tokenizer.
std::string llm_folder(const TemporaryFolder& folder) {
  const fs::path llm = folder.path() / "llm";
  fs::create_directories(llm);
  write_text(llm / "config.json", R"({"model_type": "llama", "hidden_size": 32,
    "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2,
    "vocab_size": 1000})");
  fs::copy_file(source_dir() + "/tests/reference/data/hf_tokenizer_tinyllama.json",
                llm / "tokenizer.json", fs::copy_options::overwrite_existing);
  return llm.string();
}

std::string archive() {
  return "model.pretrained_asr=" + source_dir() + "/tests/reference/data/archive.nemo";
}

/// What every user of these files writes on the command line: a machine and a short run.
Words short_run(const fs::path& run) {
  return {"trainer.accelerator=cpu",       "trainer.devices=1",
          "trainer.precision=32",          "trainer.max_steps=2",
          "trainer.limit_train_batches=2", "trainer.val_check_interval=2",
          "trainer.limit_val_batches=1",   "exp_manager.explicit_log_dir=" + run.string(),
          "model.pretrained_weights=false"};
}

/// Cuts instead of the file's own sets.
Words spoken_set() {
  const std::string set = tiny_set().string();
  return {"~model.scoring_asr", "~data.train_ds.input_cfg",
          "data.train_ds.cuts_path=" + set + "/train.jsonl",
          "~data.validation_ds.datasets.val_set_0.shar_path",
          "data.validation_ds.datasets.val_set_0.cuts_path=" + set + "/dev.jsonl"};
}

/// Trains two steps and validates. Returns the last line of the metrics.
nlohmann::ordered_json trained(const std::string& name, const TemporaryFolder& folder,
                               const Words& more) {
  const fs::path run = folder.path() / "run";
  const Words words = with(with({"train", nemo_config(name)}, short_run(run)), more);
  const Outcome result = run_s2s(words);
  REQUIRE_MESSAGE(result.exit_code == 0, result.output);
  CHECK(num_steps_logged(run) == 2);
  const auto lines = metrics(run);
  REQUIRE(!lines.empty());
  return lines.back();
}

}  // namespace

TEST_CASE("a file of NeMo's, as it is, is told what this machine lacks and nothing else") {
  // Names of a hub, values to fill in, and the scorer; `more`: of the file.
  const std::map<std::string, std::vector<std::string>> expected = {
      {"duplex_stt", {"'pretrained_llm'", "'pretrained_asr'", "'perception'"}},
      {"duplex_eartts", {"'pretrained_lm_name'", "model.codec.path", "model.scoring_asr ("}},
      // Its two models are read when the rest is right.
      {"nemotron_voicechat", {"'inference_speaker_name'", "model.scoring_asr ("}},
      {"salm_automodel", {"'pretrained_llm'", "'pretrained_asr'", "'perception'"}}};
  for (const auto& [name, lacks] : expected) {
    CAPTURE(name);
    const Outcome result = run_s2s({"config", "check", nemo_config(name), "--json"});
    CHECK(result.exit_code == 3);
    const auto findings = nlohmann::json::parse(result.output)["findings"];
    size_t unknown_keys = 0, keys_of_list = 0;
    for (const auto& finding : findings) unknown_keys += finding["id"] == "config/unknown-key";
    for (const std::string& lack : lacks) {
      CHECK_MESSAGE(contains(result.output, lack), lack);
      keys_of_list += lack.front() == '\'';
    }
    CHECK_MESSAGE(unknown_keys == keys_of_list, result.output);
  }
}

TEST_CASE("a class of NeMo's that no model here reads is named, with those that are read") {
  const TemporaryFolder folder;
  write_text(folder / "asr.yaml",
             "model: {_target_: nemo.collections.asr.models.EncDecCTCModel, d_model: 8}\n");
  const Outcome result = run_s2s({"config", "check", folder / "asr.yaml"});
  CHECK(result.exit_code == 3);
  for (const char* said : {"[config/nemo-class] model._target_ (", "asr.yaml:1:9", "EncDecCTCModel",
                           "DuplexEARTTS (duplex_eartts)", "NemotronVoiceChat"}) {
    CHECK_MESSAGE(contains(result.output, said), result.output);
  }
}

TEST_CASE("voice chat of NeMo speaks with the special tokens of its own text model") {
  const TemporaryFolder folder;
  const std::string llm = llm_folder(folder);
  const Outcome result = run_s2s({"config", "show", nemo_config("nemotron_voicechat"),
                                  "model.stt.model.pretrained_llm=" + llm,
                                  "model.speech_generation.model.pretrained_lm_name=" + llm,
                                  "model.speech_generation.model.pad_token=<unk>", "--json"});
  CAPTURE(result.output);
  const auto model =
      nlohmann::json::parse(result.output.substr(result.output.find('{')))["config"]["model"];
  CHECK(model["type"] == "nemotron_voicechat");
  CHECK(model["tokenizer"]["path"] == llm);
  CHECK(model["tokenizer"]["eos_token"] == "<|im_end|>");
  CHECK(model["speech_generation"]["model"]["tokens"] ==
        nlohmann::json{{"bos", 1}, {"eos", 2}, {"pad", 0}});
}

TEST_CASE("archives of NeMo give a duplex model its voice and its judge") {
  const TemporaryFolder folder;
  const std::string data = source_dir() + "/tests/reference/data/";
  write_text(folder / "s2s.yaml",
             "model:\n  _target_: nemo.collections.speechlm2.models."
             "duplex_s2s_model.DuplexS2SModel\n  pretrained_llm: " +
                 llm_folder(folder) + "\n  pretrained_audio_codec: " + data +
                 "nemo_audio_codec.nemo\n  scoring_asr: " + data +
                 "recognizer.nemo\n  pretrained_weights: false\n");
  const Outcome result = run_s2s({"config", "show", folder / "s2s.yaml", "--json"});
  CAPTURE(result.output);
  const auto model =
      nlohmann::json::parse(result.output.substr(result.output.find('{')))["config"]["model"];
  CHECK(model["type"] == "duplex_s2s");
  CHECK(model["codec"]["name"] == "nemo_audio_codec");
  CHECK(model["codec"]["path"] == data + "nemo_audio_codec.nemo");
  CHECK(model["scoring_asr"]["name"] == "ctc");
  CHECK(model["scoring_asr"]["path"] == data + "recognizer.nemo");
  CHECK_FALSE(model.contains("pretrained_audio_codec"));
}

TEST_CASE("duplex_stt.yaml of NeMo trains with an archive and a folder of this machine") {
  const TemporaryFolder folder;
  const auto last =
      trained("duplex_stt", folder,
              with(spoken_set(), {"model.pretrained_llm=" + llm_folder(folder), archive(),
                                  "model.perception.modality_adapter.d_model=16"}));
  CHECK(last.contains("txt_bleu"));
}

TEST_CASE("a program that links s2s::run reads duplex_stt.yaml of NeMo as s2s-run does") {
  const TemporaryFolder folder;
  const auto words_of = [&](const std::string& first, const fs::path& run) {
    const Words words = with({first, nemo_config("duplex_stt")}, short_run(run));
    return with(words, with(spoken_set(), {"model.pretrained_llm=" + llm_folder(folder), archive(),
                                           "model.perception.modality_adapter.d_model=16"}));
  };
  const fs::path own = folder.path() / "own", run = folder.path() / "run";
  const Outcome program =
      Process(words_of(binary_dir() + "/lib/s2s/plugins", own), {}, "bin/train_config").wait();
  REQUIRE_MESSAGE(program.exit_code == 0, program.output);
  const Outcome command = run_s2s(words_of("train", run));
  REQUIRE_MESSAGE(command.exit_code == 0, command.output);
  std::string config = read_text(own / "config.yaml");
  const size_t place = config.find(own.string());
  REQUIRE(place != std::string::npos);
  CHECK(config.replace(place, own.string().size(), run.string()) == read_text(run / "config.yaml"));
  // MKL's kernels differ on AMD's processors (program_test.cc).
  CHECK(metrics(own).front()["loss"].get<double>() ==
        doctest::Approx(metrics(run).front()["loss"].get<double>()).epsilon(1e-5));
}

TEST_CASE("duplex_eartts.yaml of NeMo trains with a small model") {
  const TemporaryFolder folder;
  const std::string sizes =
      "={hidden_size: 16, intermediate_size: 32, num_hidden_layers: 1, num_attention_heads: 2, "
      "num_key_value_heads: 2, head_dim: 8, attention_dropout: 0.1}";
  const auto last = trained(
      "duplex_eartts", folder,
      with(spoken_set(),
           {"model.pretrained_lm_name=" + llm_folder(folder), "model.pretrained_audio_codec=null",
            "model.pad_token=<unk>", "model.codec_config.base_hidden_size=8",
            "model.tts_config.backbone_config" + sizes,
            "model.tts_config.cas_config.backbone_config.encoder" + sizes,
            "model.tts_config.mog_head_config={intermediate_size: 16, num_layers: 1, low_rank: 4, "
            "num_predictions: 8}"}));
  CHECK(std::isfinite(last["loss"].get<double>()));
}

TEST_CASE("salm_asr_decoder_qformer.yaml of NeMo trains with a transducer of this machine") {
  const TemporaryFolder folder;
  write_text(folder.path() / "model_config.yaml", R"(
preprocessor: { _target_: nemo.collections.asr.modules.AudioToMelSpectrogramPreprocessor,
  sample_rate: 16000, features: 16, window_size: 0.025, n_fft: 512 }
encoder: { _target_: nemo.collections.asr.modules.ConformerEncoder, feat_in: 16, n_layers: 2,
  d_model: 16, n_heads: 2, subsampling: dw_striding, subsampling_factor: 8,
  subsampling_conv_channels: 4, ff_expansion_factor: 2, conv_kernel_size: 5 }
decoder: { prednet: { pred_hidden: 8, pred_rnn_layers: 1 } }
joint: { jointnet: { joint_hidden: 8 }, vocabulary: [a, b, c] }
model_defaults: { tdt_durations: [0, 1, 2] }
)");
  const std::string file = folder / "asr.nemo";
  REQUIRE(
      std::system(("tar -C '" + folder.path().string() + "' -cf '" + file + "' ./model_config.yaml")
                      .c_str()) == 0);
  const std::string set = tiny_set().string();
  // The second is that of salm_asr_decoder_multilayerproj.yaml.
  for (const std::string adapter :
       {"{_target_: nemo.collections.asr.modules.QformerConnector, prompt_size: 4,"
        " target_layer_ids: [0, 1], qformer_num_hidden_layers: 1,"
        " encoder_config: {d_model: 16, encoder_attention_heads: 2}, llm_config: {hidden_size: "
        "32}}",
        "{_target_: nemo.collections.speechlm2.modules.perception.MultiLayerProjectionConnector,"
        " target_layer_ids: [0, 1], input_dim: 16, output_dim: 32}"}) {
    CAPTURE(adapter);
    std::filesystem::remove_all(folder.path() / "run");
    const auto last = trained(
        "salm_asr_decoder_qformer", folder,
        {"model.pretrained_llm=" + llm_folder(folder), "model.pretrained_asr=" + file,
         "model.prompt_format=llama2", "model.perception.output_dim=32",
         "~model.perception.modality_adapter", "model.perception.modality_adapter=" + adapter,
         "data.train_ds.input_cfg.0.cuts_path=" + set + "/train.jsonl",
         "data.validation_ds.datasets.val_set_0.input_cfg.0.cuts_path=" + set + "/dev.jsonl"});
    CHECK(last.contains("acc"));
  }
}

TEST_CASE("salm_automodel.yaml of NeMo trains as a SALM without experts") {
  const TemporaryFolder folder;
  const std::string set = tiny_set().string();
  const auto last = trained(
      "salm_automodel", folder,
      {"model.pretrained_llm=" + llm_folder(folder), archive(), "model.prompt_format=llama2",
       "model.perception.modality_adapter.d_model=16", "~model.perception.output_dim",
       "model.lr_scheduler.warmup_steps=1",
       "data.train_ds.input_cfg.0.cuts_path=" + set + "/train.jsonl",
       "data.validation_ds.datasets.val_set_0.input_cfg.0.cuts_path=" + set + "/dev.jsonl"});
  CHECK(last.contains("acc"));
}
