// A configuration of NeMo's duplex model, as its examples have it: what there is to write anew is
// found in one check.

#include <doctest/doctest.h>

#include <filesystem>

#include "cli/command.h"
#include "common/places.h"
#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"

using namespace s2s::test;

namespace {

// The keys of s2s_duplex.yaml (NeMo 3.0), shortened where many keys say the same.
const char* const kNemo = R"(
model:
  pretrained_llm: TinyLlama/TinyLlama-1.1B-Chat-v1.0
  pretrained_audio_codec: ???
  pretrained_asr: nvidia/stt_en_fastconformer_hybrid_large_streaming_multi
  scoring_asr: stt_en_fastconformer_transducer_large
  freeze_params: ["^audio_codec\\..+$"]
  audio_loss_weight: 4
  perception:
    modality_adapter: {_target_: nemo.collections.asr.modules.ConformerEncoder, n_layers: 2}
  optimizer: {_target_: torch.optim.AdamW, lr: 3e-4, foreach: true}
  lr_scheduler:
    _target_: nemo.core.optim.lr_scheduler.CosineAnnealing
    warmup_steps: 0
    max_steps: ${trainer.max_steps}
trainer:
  devices: -1
  max_steps: 1000000
  limit_train_batches: 100
  val_check_interval: ${trainer.limit_train_batches}
  strategy: {_target_: lightning.pytorch.strategies.DDPStrategy, find_unused_parameters: true}
data:
  source_sample_rate: 16000
  train_ds:
    input_cfg: [{type: lhotse_shar, shar_path: "???"}]
    batch_duration: 100
  validation_ds:
    datasets: {val_set_0: {shar_path: "???"}}
    batch_size: 1
exp_manager:
  explicit_log_dir: s2s_results/
  checkpoint_callback_params: {monitor: val_asr_bleu, mode: max, every_n_epochs: 1}
)";

}  // namespace

TEST_CASE("one check finds all that a configuration of NeMo has to say differently") {
  const TemporaryFolder folder;
  write_text(folder / "nemo.yaml", kNemo);
  const CommandResult result = run_cli("config check " + (folder / "nemo.yaml"));
  CAPTURE(result.output);
  CHECK(result.exit_code == 3);
  for (const char* const said :
       {"note: model.pretrained_audio_codec (", "read as model.type: duplex_s2s",
        "unknown key 'pretrained_llm' in model", "write llm: {name: llama, path: FOLDER}",
        "unknown key 'pretrained_audio_codec' in model", "unknown key 'pretrained_asr' in model",
        "unknown key 'perception' in model",
        "'stt_en_fastconformer_transducer_large' is not supported\n  expected: a .nemo file",
        "data.train_ds.input_cfg.0.shar_path (", "validation_ds.datasets.val_set_0.shar_path (",
        "note: data.train_ds: read as name: cuts", "val_set_0: read as name: cuts"}) {
    CHECK_MESSAGE(has(result, said), said);
  }
  for (const char* const unsaid :
       {"train_ds.name is required", "val_set_0.name is required", "unknown key 'lora'",
        "unknown key '_target_'", "unknown key 'type'", "no scorer named"}) {
    CHECK_MESSAGE(!has(result, unsaid), unsaid);
  }
}

TEST_CASE("a connector may name NeMo's class, and is read with the keys of that class") {
  const TemporaryFolder folder;
  const auto shown = [&](const std::string& adapter) {
    write_text(folder / "nemo.yaml", "model:\n  type: duplex_s2s\n  modality_adapter: " + adapter);
    return run_cli("config show " + (folder / "nemo.yaml"));
  };
  const CommandResult result = shown(
      "{_target_: nemo.collections.speechlm2.modules.perception.QformerConnector, prompt_size: 32,"
      " target_layer_ids: [0, 5], qformer_num_hidden_layers: 3,"
      " encoder_config: {d_model: 512, encoder_attention_heads: 8}, llm_config: {hidden_size: 64},"
      " rote: {dim: 512, theta: 1200, rotary_fraction: 0.2}}\n");
  CAPTURE(result.output);
  for (const char* const said : {"type: qformer", "prompt_size: 32", "num_hidden_layers: 3",
                                 "num_attention_heads: 8", "enabled: true", "dim: 512"}) {
    CHECK_MESSAGE(has(result, said), said);
  }
  const CommandResult unknown = shown("{_target_: acme.Connector}\n");
  CHECK(unknown.exit_code == 3);
  CHECK_MESSAGE(has(unknown, "[model/translate]"), unknown.output);
}

TEST_CASE("a NeMo configuration whose parts are files of this machine is read as it is") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "llm");
  write_text(folder / "llm/config.json", R"({"model_type": "llama", "hidden_size": 32,
    "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 64})");
  write_text(folder / "salm.yaml", "model:\n  pretrained_llm: " + (folder / "llm") + R"(
  pretrained_asr: )" + source_dir() + R"(/tests/reference/data/archive.nemo
  pretrained_weights: true
  prompt_format: llama2
  audio_locator_tag: "<|audio|>"
  perception:
    target: nemo.collections.speechlm2.modules.perception.AudioPerceptionModule
    encoder: {n_layers: 2}
    modality_adapter: {_target_: nemo.collections.asr.modules.ConformerEncoder, feat_in: 16,
                       d_model: 16, n_heads: 2, n_layers: 1, subsampling_factor: 1}
)");
  const CommandResult result = run_cli("config show " + (folder / "salm.yaml"));
  CAPTURE(result.output);
  for (const char* const said :
       {"type: salm", "name: llama", "name: fastconformer", "feat_in: 16", "n_layers: 2",
        "archive.nemo", "type: conformer", "<|audio|>", "prompt_format: llama2"}) {
    CHECK_MESSAGE(has(result, said), said);
  }
  for (const char* const unsaid : {"unknown key", "translate_from", "perception:"}) {
    CHECK_MESSAGE(!has(result, unsaid), unsaid);
  }
  const CommandResult none =
      run_cli("config show " + (folder / "salm.yaml") + " model.tokenizer=null");
  CHECK(has(none, "tokenizer: null "));
  // A key of the tokenizer adds to what the folder implies, and so does NeMo's own key.
  for (const auto& [word, said] : {std::pair("model.tokenizer.pad_id=3", "pad_id: 3 "),
                                   std::pair("model.pad_token=\"[PAD]\"", "pad_token: \"[PAD]\""),
                                   std::pair("model.tokenizer.additional_special_tokens=[x]",
                                             "additional_special_tokens: [x, \"<|audio|>\"]")}) {
    const CommandResult more =
        run_cli("config show " + (folder / "salm.yaml") + " model.tokenizer '" + word + "'");
    CAPTURE(more.output);
    CHECK(has(more, said));
    CHECK(has(more, "name: hf"));
    CHECK(has(more, "path: " + (folder / "llm")));
    CHECK(has(more, "<|audio|>"));
  }
}

TEST_CASE(
    "a language model whose folder is not there is asked for its folder, not for its name alone") {
  const TemporaryFolder folder;
  write_text(folder / "llm.yaml", "model:\n  llm: {path: no/such/folder}\n");
  const CommandResult result = run_cli("plan " + (folder / "llm.yaml"));
  CHECK(result.exit_code == 3);
  CHECK_MESSAGE(has(result, "there is no such folder, and nothing is downloaded"), result.output);
}

TEST_CASE("sources that say what they read are cuts, and others are asked for") {
  const TemporaryFolder folder;
  const std::string tiny = "config check " + s2s::test::source_dir() + "/configs/tiny.yaml " +
                           "tiny.data=" + (folder / "data") + " tiny.run=" + (folder / "run");
  const CommandResult named = run_cli(tiny + " ~data.train_ds.name");
  CHECK_MESSAGE(named.exit_code == 0, named.output);
  CHECK(has(named, "note: data.train_ds: read as name: cuts"));
  const CommandResult nothing = run_cli(tiny + " ~data.train_ds.name ~data.train_ds.cuts_path");
  CHECK(nothing.exit_code == 3);
  CHECK_MESSAGE(has(nothing, "data.train_ds.name is required"), nothing.output);
}
