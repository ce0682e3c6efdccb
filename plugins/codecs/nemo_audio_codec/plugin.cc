#include "s2s/plugin.h"

#include "nemo_audio_codec.h"
#include "nemo_audio_codec_errors.h"
#include "s2s/nemo_archive.h"
#include "s2s/nn/weights.h"

namespace s2s::nemo_audio_codec {
namespace {

/// `node` over the options of its archive. A file with weights alone gives none.
Config over_archive(const Config& node, const ModelContext& context) {
  const Config* const path = node.find("path");
  if (path == nullptr || !path->is_scalar() || path->is_null()) return node;
  const std::string file = resolve_path(path->text(), context.base_dir);
  if (!is_nemo_archive(file)) return node;
  Config merged = from_nemo(read_nemo_config(file));
  for (const auto& [key, value] : node.entries()) merged[key] = value;
  merged.set_origin(node.origin());
  return merged;
}

std::unique_ptr<Codec> create(const Config& node, const ModelContext& context) {
  const auto options =
      read_options<NemoAudioCodecOptions>(over_archive(node, context), context.path);
  check(options, context.path);
  if (!options.path && context.warn) context.warn(untrained(context.path));
  const std::string weights = options.path ? resolve_path(*options.path, context.base_dir) : "";
  return std::make_unique<NemoAudioCodec>(options, weights);
}

Component<Codec> component() {
  return {.name = "nemo_audio_codec",
          .summary = "NeMo's AudioCodecModel (NanoCodec): HiFi-GAN halves around scalar levels",
          .create = create,
          .options = list_options<NemoAudioCodecOptions>,
          .translate = from_nemo,
          .tiny = R"({"sample_rate": 400, "samples_per_frame": 12,
    "audio_encoder": {"down_sample_rates": [2, 2, 3], "base_channels": 2, "encoded_dim": 4,
      "resblock_kernel_sizes": [3, 5], "resblock_dilation_sizes": [1, 2],
      "activation": "half_snake"},
    "vector_quantizer": {"num_groups": 2, "num_levels_per_group": [5, 4]},
    "audio_decoder": {"up_sample_rates": [3, 2, 2], "base_channels": 16, "input_dim": 4,
      "resblock_kernel_sizes": [3], "resblock_dilation_sizes": [1, 2],
      "activation": "half_snake"}})",
          .weights = {{"nvidia/nemo-nano-codec-22khz-1.78kbps-12.5fps", ""},
                      {"nvidia/low-frame-rate-speech-codec-22khz", "NSCLv1"}}};
}

}  // namespace
}  // namespace s2s::nemo_audio_codec

S2S_PLUGIN("nemo_audio_codec", "0.1.0", "Apache-2.0", "codec:nemo_audio_codec") {
  registrar.add(s2s::nemo_audio_codec::component());
}
