#include "s2s/plugin.h"

#include "mimi.h"
#include "mimi_encoder.h"
#include "mimi_errors.h"
#include "s2s/nn/decoder_options.h"
#include "s2s/nn/weights.h"

namespace s2s::mimi {
namespace {

std::unique_ptr<Codec> create(const Config& node, const ModelContext& context) {
  const Config config =
      has_folder_config(node, context) ? with_folder_config(node, context, mimi_from_hf) : node;
  const auto options = read_options<MimiOptions>(config, context.path);
  check(options, context.path);
  if (!options.path && context.warn) context.warn(untrained(context.path));
  const std::string weights = options.path ? resolve_path(*options.path, context.base_dir) : "";
  return std::make_unique<Mimi>(options, weights);
}

std::vector<PublishedWeights> published() {
  return {{"kyutai/mimi", "CC-BY-4.0"},
          {"kyutai/moshiko-pytorch-bf16", "CC-BY-4.0"},
          {"sesame/csm-1b", "Apache-2.0"}};
}

Component<Codec> component() {
  return {.name = "mimi",
          .summary = "Mimi: causal convolutions and transformers around a residual quantizer",
          .create = create,
          .options = list_options<MimiOptions>,
          .translate = mimi_from_hf,
          .tiny = R"({"sampling_rate": 800, "hidden_size": 8, "num_filters": 4,
                      "upsampling_ratios": [2, 4], "codebook_size": 8, "codebook_dim": 4,
                      "vector_quantization_hidden_dimension": 4, "num_quantizers": 3,
                      "upsample_groups": 8, "num_hidden_layers": 1, "intermediate_size": 8,
                      "num_attention_heads": 2, "num_key_value_heads": 1, "sliding_window": 4})",
          .weights = published()};
}

Component<Encoder> encoder_component() {
  return {.name = "mimi",
          .summary = "Mimi's latents of the user's voice, continuous or quantized; frozen, live",
          .create = create_mimi_encoder,
          .options = list_options<MimiEncoderOptions>,
          .translate = mimi_from_hf,
          .tiny = component().tiny,
          .weights = published()};
}

}  // namespace
}  // namespace s2s::mimi

S2S_PLUGIN("mimi", "0.1.0", "Apache-2.0", "codec:mimi\nencoder:mimi") {
  registrar.add(s2s::mimi::component());
  registrar.add(s2s::mimi::encoder_component());
}
