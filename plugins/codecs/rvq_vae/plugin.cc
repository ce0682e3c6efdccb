#include "s2s/plugin.h"

#include "rvq_vae.h"
#include "rvq_vae_errors.h"
#include "s2s/model_parts.h"
#include "s2s/nn/weights.h"

namespace s2s::rvq_vae {
namespace {

std::unique_ptr<Codec> create(const Config& config, const ModelContext& context) {
  auto options = read_options<RvqVaeOptions>(config, context.path);
  if (!options.sample_rate) options.sample_rate = target_sample_rate_of(context.data);
  check(options, context.path);
  if (!options.path && context.warn) context.warn(untrained(context.path));
  const std::string weights = options.path ? resolve_path(*options.path, context.base_dir) : "";
  return std::make_unique<RvqVae>(options, weights);
}

/// NeMo's codec_config has the same names.
Config translate(const Config& codec_config) { return codec_config; }

Component<Codec> component() {
  return {.name = "rvq_vae",
          .summary = "EAR-TTS's codec: a convolutional autoencoder with residual quantization",
          .create = create,
          .options = list_options<RvqVaeOptions>,
          .translate = translate,
          .tiny = R"({"sample_rate": 400, "latent_size": 8, "n_fft": 12, "hop_length": 4,
                      "base_hidden_size": 4, "channel_mult": [1, 2], "rates": [2, 5],
                      "num_blocks": 1, "kernel_size": 3, "codebook_size": 6, "num_quantizers": 3,
                      "wav_to_token_ratio": 40})"};
}

}  // namespace
}  // namespace s2s::rvq_vae

S2S_PLUGIN("rvq_vae", "0.1.0", "Apache-2.0", "codec:rvq_vae") {
  registrar.add(s2s::rvq_vae::component());
}
