#pragma once
// A small model for the tests of `bench model`.

namespace s2s::test {

/// A duplex model of NeMo's that trains in a moment, as `bench model --options` takes it.
inline constexpr const char* kDuplexOfNemo = R"({
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

}  // namespace s2s::test
