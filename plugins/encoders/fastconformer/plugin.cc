#include "s2s/plugin.h"

#include "fastconformer.h"

namespace s2s::fastconformer {
namespace {

std::unique_ptr<Encoder> create(const Config& node, const BuildContext& context) {
  const auto options = read_options<FastConformerOptions>(node, context.path);
  options.check(context.path);
  return std::make_unique<FastConformer>(options, context.path, context.base_dir);
}

Component<Encoder> component() {
  return {.name = "fastconformer",
          .summary = "mel front end and Conformer with NeMo's names; offline or streaming",
          .create = create,
          .options = list_options<FastConformerOptions>,
          .translate = translate,
          .tiny = R"({"preprocessor": {"features": 20}, "encoder": {"feat_in": 20, "n_layers": 2,
    "d_model": 16, "n_heads": 2, "subsampling_conv_channels": 12, "ff_expansion_factor": 2,
    "conv_kernel_size": 5, "conv_context_size": "causal", "att_context_size": [6, 1],
    "att_context_style": "chunked_limited", "dropout": 0.0, "dropout_pre_encoder": 0.0,
    "dropout_emb": 0.0, "dropout_att": 0.0}})"};
}

}  // namespace
}  // namespace s2s::fastconformer

S2S_PLUGIN("fastconformer", "0.1.0", "Apache-2.0", "encoder:fastconformer") {
  registrar.add(s2s::fastconformer::component());
}
