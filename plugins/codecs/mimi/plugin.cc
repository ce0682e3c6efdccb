#include "s2s/plugin.h"

#include <filesystem>

#include "mimi.h"
#include "mimi_errors.h"
#include "s2s/nn/decoder_options.h"
#include "s2s/nn/weights.h"

namespace s2s::mimi {
namespace {

/// A file with weights alone gives no sizes. A path that is missing is read as a folder, which
/// reports it.
bool is_folder(const Config& node, const ModelContext& context) {
  const Config* const path = node.find("path");
  if (path == nullptr || !path->is_scalar() || path->is_null()) return true;
  return !std::filesystem::is_regular_file(resolve_path(path->text(), context.base_dir));
}

std::unique_ptr<Codec> create(const Config& node, const ModelContext& context) {
  const Config config =
      is_folder(node, context) ? with_folder_config(node, context, mimi_from_hf) : node;
  const auto options = read_options<MimiOptions>(config, context.path);
  check(options, context.path);
  if (!options.path && context.warn) context.warn(untrained(context.path));
  const std::string weights = options.path ? resolve_path(*options.path, context.base_dir) : "";
  return std::make_unique<Mimi>(options, weights);
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
                      "num_attention_heads": 2, "num_key_value_heads": 1, "sliding_window": 4})"};
}

}  // namespace
}  // namespace s2s::mimi

S2S_PLUGIN("mimi", "0.1.0", "Apache-2.0", "codec:mimi") { registrar.add(s2s::mimi::component()); }
