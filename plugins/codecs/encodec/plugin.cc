#include "s2s/plugin.h"

#include "encodec.h"
#include "encodec_errors.h"
#include "s2s/nn/decoder_options.h"
#include "s2s/nn/weights.h"

namespace s2s::encodec {
namespace {

std::unique_ptr<Codec> create(const Config& node, const ModelContext& context) {
  const Config config =
      has_folder_config(node, context) ? with_folder_config(node, context, encodec_from_hf) : node;
  const auto options = read_options<EncodecOptions>(config, context.path);
  check(options, context.path);
  if (context.warn && !options.path) context.warn(untrained(context.path));
  if (context.warn && options.normalize) context.warn(without_scales(context.path));
  const std::string weights = options.path ? resolve_path(*options.path, context.base_dir) : "";
  return std::make_unique<Encodec>(options, weights);
}

Component<Codec> component() {
  return {.name = "encodec",
          .summary = "EnCodec: convolutions and LSTMs around a residual quantizer",
          .create = create,
          .options = list_options<EncodecOptions>,
          .translate = encodec_from_hf,
          .tiny = R"({"sampling_rate": 800, "target_bandwidths": [0.3, 0.9], "hidden_size": 8,
                      "num_filters": 4, "upsampling_ratios": [4, 2], "codebook_size": 8,
                      "kernel_size": 3, "last_kernel_size": 3, "num_lstm_layers": 1,
                      "num_codebooks": 3})",
          .weights = {{"facebook/encodec_24khz", ""},
                      {"facebook/encodec_32khz", "CC-BY-NC-4.0"},
                      {"facebook/encodec_48khz", "MIT"}}};
}

}  // namespace
}  // namespace s2s::encodec

S2S_PLUGIN("encodec", "0.1.0", "Apache-2.0", "codec:encodec") {
  registrar.add(s2s::encodec::component());
}
