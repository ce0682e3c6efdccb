// s2s-run bench model on the CPU.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "cli/command.h"
#include "common/temporary_folder.h"

using s2s::test::CommandResult;
using s2s::test::run_cli;

namespace {

/// A duplex model of NeMo's that trains in a moment.
constexpr const char* kOptions = R"({
  "model": {
    "audio_loss_weight": 4, "text_loss_weight": 3,
    "perception": {
      "preprocessor": {
        "_target_": "nemo.collections.asr.modules.AudioToMelSpectrogramPreprocessor",
        "sample_rate": 16000, "normalize": "NA", "window_size": 0.025, "window_stride": 0.01,
        "window": "hann", "features": 32, "n_fft": 512, "log": true, "frame_splicing": 1,
        "dither": 0.0, "pad_to": 0, "pad_value": 0.0},
      "encoder": {
        "_target_": "nemo.collections.asr.modules.ConformerEncoder",
        "feat_in": 32, "feat_out": -1, "n_layers": 1, "d_model": 16, "subsampling": "dw_striding",
        "subsampling_factor": 8, "subsampling_conv_channels": 12, "causal_downsampling": true,
        "ff_expansion_factor": 2, "self_attention_model": "rel_pos", "n_heads": 4,
        "att_context_size": [6, 1], "att_context_style": "chunked_limited", "xscaling": true,
        "untie_biases": true, "pos_emb_max_len": 256, "conv_kernel_size": 9,
        "conv_norm_type": "layer_norm", "conv_context_size": "causal", "dropout": 0.0,
        "dropout_pre_encoder": 0.0, "dropout_emb": 0.0, "dropout_att": 0.0},
      "modality_adapter": {
        "_target_": "nemo.collections.speechlm2.modules.perception.IdentityConnector",
        "d_model": 16},
      "output_dim": 32}},
  "llm_config": {
    "architectures": ["LlamaForCausalLM"], "head_dim": 8, "hidden_act": "silu", "hidden_size": 32,
    "initializer_range": 0.02, "intermediate_size": 48, "max_position_embeddings": 256,
    "model_type": "llama", "num_attention_heads": 4, "num_hidden_layers": 2,
    "num_key_value_heads": 4, "rms_norm_eps": 1e-05,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
    "tie_word_embeddings": false, "vocab_size": 96},
  "codec": {"num_codebooks": 4, "codebook_size": 16},
  "tokens": {"bos": 1, "eos": 2, "pad": 0},
  "trainer": {"gradient_clip_val": 1.0, "max_steps": 1000}})";

}  // namespace

TEST_CASE("bench model says what a second trains, and where a step's time goes") {
  const s2s::test::TemporaryFolder folder;
  const std::string options = (folder.path() / "options.json").string();
  s2s::write_file_atomically(options, kOptions);
  const CommandResult run =
      run_cli("bench model --options " + options +
              " --device cpu --steps 2 --threads 1 --batch-size 2 --seconds 4 --ops 5");
  REQUIRE_MESSAGE(run.exit_code == 0, run.output);
  const nlohmann::json result = nlohmann::json::parse(run.output);
  CHECK(result["device"] == "cpu");
  CHECK(result["losses"][1].get<double>() < result["losses"][0].get<double>());
  const double step_s = result["step_s"]["median"];
  CHECK(result["per_s"]["audio_hours"].get<double>() == doctest::Approx(2 * 4 / 3600.0 / step_s));
  // 4 s are 50 frames; the last one predicts nothing.
  CHECK(result["per_s"]["frames"].get<double>() == doctest::Approx(2 * 49 / step_s));
  CHECK(result["per_s"]["tokens"].get<double>() == doctest::Approx(2 * 49 * 5 / step_s));
  for (const char* part : {"mel features", "decoder", "decoder, backward", "rest"}) {
    CHECK_MESSAGE(result["split_ms"][part].get<double>() > 0, part);
  }
  CHECK(result["ops"].size() == 5);
  CHECK(result["ops"][0]["ms"].get<double>() > 0);
  CHECK(result["generate_ops"].size() == 5);
}
