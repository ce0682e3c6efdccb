#include "s2s/plugin.h"

#include "dac.h"
#include "dac_errors.h"
#include "s2s/nn/decoder_options.h"
#include "s2s/nn/weights.h"

namespace s2s::dac {
namespace {

std::unique_ptr<Codec> create(const Config& node, const ModelContext& context) {
  const Config config =
      has_folder_config(node, context) ? with_folder_config(node, context, dac_from_hf) : node;
  const auto options = read_options<DacOptions>(config, context.path);
  check(options, context.path);
  if (!options.path && context.warn) context.warn(untrained(context.path));
  const std::string weights = options.path ? resolve_path(*options.path, context.base_dir) : "";
  return std::make_unique<Dac>(options, weights);
}

Component<Codec> component() {
  return {.name = "dac",
          .summary = "DAC: convolutions around a residual quantizer, 16, 24 or 44.1 kHz",
          .create = create,
          .options = list_options<DacOptions>,
          .translate = dac_from_hf,
          .tiny = R"({"sampling_rate": 800, "encoder_hidden_size": 4, "downsampling_ratios": [2, 4],
                      "decoder_hidden_size": 16, "n_codebooks": 3, "codebook_size": 8,
                      "codebook_dim": 4})",
          .weights = {{"descript/dac_16khz", "MIT"},
                      {"descript/dac_24khz", "MIT"},
                      {"descript/dac_44khz", "MIT"}}};
}

}  // namespace
}  // namespace s2s::dac

S2S_PLUGIN("dac", "0.1.0", "Apache-2.0", "codec:dac") { registrar.add(s2s::dac::component()); }
