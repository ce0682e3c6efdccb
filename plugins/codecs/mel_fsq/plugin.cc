#include "s2s/plugin.h"

#include "mel_fsq.h"
#include "s2s/model_parts.h"

namespace s2s::mel_fsq {
namespace {

std::unique_ptr<Codec> create(const Config& config, const ModelContext& context) {
  auto options = read_options<MelFsqOptions>(config, context.path);
  if (!options.sample_rate) options.sample_rate = target_sample_rate_of(context.data);
  check(options, context.path);
  return std::make_unique<MelFsq>(options, context.path);
}

Component<Codec> component() {
  return {.name = "mel_fsq",
          .summary =
              "log-mel, cosine transform and scalar quantization; no training, "
              "12.5 frames/s",
          .create = create,
          .options = list_options<MelFsqOptions>,
          .tiny = R"({"sample_rate": 16000, "decoder_iterations": 2})"};
}

}  // namespace
}  // namespace s2s::mel_fsq

S2S_PLUGIN("mel_fsq", "0.1.0", "Apache-2.0", "codec:mel_fsq") {
  registrar.add(s2s::mel_fsq::component());
}
