#include "s2s/plugin.h"

#include <filesystem>

#include "fastconformer.h"
#include "s2s/nn/speech_encoder.h"
#include "s2s/nn/weights.h"

namespace s2s::fastconformer {
namespace {

/// True if `path` is a folder of transformers' classes, whose config.json has the sizes.
bool is_transformers_folder(const Config& node, const BuildContext& context) {
  const Config* path = node.find("path");
  if (path == nullptr || !path->is_scalar() || path->is_null()) return false;
  const std::filesystem::path folder = resolve_path(path->text(), context.base_dir);
  const std::filesystem::path file = folder / "config.json";
  if (!std::filesystem::is_regular_file(file)) return false;
  const Config foreign = read_json(file.string());
  return foreign.is_map() && foreign.find("model_type") != nullptr;
}

/// The options of the folder; keys of the configuration win, those of its blocks one by one.
Config with_folder(const Config& node, const BuildContext& context) {
  if (!is_transformers_folder(node, context)) return node;
  Config top = node;
  for (const auto& [key, value] : node.entries()) {
    if (value.is_map()) top.erase(key);
  }
  Config joined = with_encoder_folder(top, context, translate);
  for (const auto& [key, value] : node.entries()) {
    if (!value.is_map()) continue;
    if (joined.find(key) == nullptr) joined[key] = Config::map();
    for (const auto& [name, written] : value.entries()) joined[key][name] = written;
  }
  return joined;
}

std::unique_ptr<Encoder> create(const Config& given, const BuildContext& context) {
  const Config node = with_folder(given, context);
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
    "dropout_emb": 0.0, "dropout_att": 0.0}})",
          .weights = {{"nvidia/parakeet-tdt-0.6b-v2", "CC-BY-4.0"},
                      {"nvidia/stt_en_fastconformer_hybrid_large_streaming_multi", "CC-BY-4.0"}}};
}

}  // namespace
}  // namespace s2s::fastconformer

S2S_PLUGIN("fastconformer", "0.1.0", "Apache-2.0", "encoder:fastconformer") {
  registrar.add(s2s::fastconformer::component());
}
