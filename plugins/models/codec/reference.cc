// Outputs for reference files, the exported configuration, and batches of random values.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <set>

#include "codec_model.h"

namespace s2s::codec {

std::map<std::string, at::Tensor> CodecModel::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool training) {
  const at::Tensor& real_BS = inputs.at("audio_real");
  if (!training) {
    const at::NoGradGuard no_grad;
    const at::Tensor lengths_B = at::full({real_BS.size(0)}, real_BS.size(1), at::kLong);
    const at::Tensor codes_BKT = codec_.encode(real_BS, lengths_B.to(real_BS.device())).first;
    return {{"codes", codes_BKT}, {"audio", codec_.decode(codes_BKT)}};
  }
  const at::Tensor decoded_BS = inputs.at("audio_gen").clone().set_requires_grad(true);
  RowLosses losses;
  add_spectral(real_BS, decoded_BS, losses);
  add_adversarial(real_BS, decoded_BS, options_.discriminator.start_step, losses);
  std::map<std::string, at::Tensor> out;
  for (const auto& [name, loss_B] : losses.parts) out[name] = loss_B.mean();
  out["loss"] = losses.total_B.mean();
  out["audio_gen_grad"] = torch::autograd::grad({out["loss"]}, {decoded_BS}, {},
                                                /*retain_graph=*/true)
                              .front();
  return out;
}

bool CodecModel::is_exported(const std::string& name) const {
  return name.starts_with("codec.") && name != "codec.quantizer.pending";
}

Config CodecModel::hf_config() const {
  const auto number = [](int64_t value) { return Config::scalar(std::to_string(value)); };
  Config config = write_options(options_);
  const std::set<std::string> theirs = {
      "hidden_size",          "num_filters", "num_residual_layers",
      "upsampling_ratios",    "kernel_size", "last_kernel_size",
      "residual_kernel_size", "compress",    "num_lstm_layers",
      "dilation_growth_rate", "pad_mode",    "use_conv_shortcut"};
  Config out = Config::map();
  // With scalar levels it is no EncodecModel, and transformers should refuse it.
  out["model_type"] = Config::scalar(options_.is_scalar() ? "encodec_fsq" : "encodec", true);
  if (options_.is_scalar()) {
    out["scalar_levels"] = *config.find("levels");
  } else {
    out["architectures"] = Config::list({Config::scalar("EncodecModel", true)});
  }
  out["codebook_size"] = number(options_.entries());
  for (const auto& [key, value] : config.entries()) {
    if (theirs.count(key) != 0) out[key] = value;
  }
  out["codebook_dim"] = number(options_.hidden_size);
  out["sampling_rate"] = number(options_.rate_hz());
  out["audio_channels"] = number(1);
  out["normalize"] = Config::scalar("false");
  out["norm_type"] = Config::scalar("weight_norm", true);
  out["use_causal_conv"] = Config::scalar("true");
  out["trim_right_ratio"] = Config::scalar("1.0");
  out["target_bandwidths"] = Config::list({Config::scalar(std::to_string(options_.bandwidth()))});
  return out;
}

Batch CodecModel::probe_batch(const ProbeBatch& shape) {
  Batch batch;
  const auto samples =
      std::max(options_.hop(),
               static_cast<int64_t>(shape.duration_s * static_cast<double>(options_.rate_hz())));
  batch.target_audio_BS = at::rand({shape.rows, samples}) * 0.2 - 0.1;
  batch.target_audio_lens_B = at::full({shape.rows}, samples, at::kLong);
  for (int64_t row = 0; row < shape.rows; ++row) batch.ids.push_back(std::to_string(row));
  batch.target_texts.resize(batch.ids.size());
  batch.turns.resize(batch.ids.size());
  return batch;
}

}  // namespace s2s::codec
