#include "s2s/plugin.h"

#include "codec_errors.h"
#include "codec_model.h"
#include "s2s/model_parts.h"

namespace s2s::codec {
namespace {

std::unique_ptr<Model> create(const Config& model, const ModelContext& context) {
  auto options = read_options<CodecOptions>(model, context.path);
  if (!options.sampling_rate) options.sampling_rate = target_sample_rate_of(context.data);
  check(options, context.path);
  check_sample_rate(context.path, options.rate_hz(), context.data, "target_sample_rate");
  const int64_t size = options.entries();
  if (context.warn && options.is_scalar()) {
    context.warn(refused_by_transformers(context.path + ".quantizer",
                                         "EncodecModel has no scalar levels", "rvq"));
  } else if (context.warn && (size & (size - 1)) != 0) {
    context.warn(refused_by_transformers(context.path + ".codebook_size",
                                         std::to_string(size) + " is no power of 2",
                                         "1024 or another power of 2"));
  }
  return std::make_unique<CodecModel>(options);
}

/// The options of a reference file: {model}.
Config translate(const Config& foreign) { return required_key(foreign, "model", "options"); }

Component<Model> component() {
  return {.name = "codec",
          .summary = "trains a codec: EnCodec's layers, residual codebooks, discriminators",
          .create = create,
          .options = list_options<CodecOptions>,
          .translate = translate,
          .tiny = R"({"sampling_rate": 800, "hidden_size": 8, "num_filters": 4,
                      "upsampling_ratios": [4, 2], "kernel_size": 3, "last_kernel_size": 3,
                      "num_lstm_layers": 1, "num_codebooks": 2, "codebook_size": 8,
                      "segment_s": 0.8, "window_lengths": [64, 32], "mel_loss_dims": [8, 4],
                      "discriminator": {"periods": [2], "period_channels": [4, 4],
                        "window_lengths": [64], "stft_bands": [0, 1], "stft_channels": 2}})"};
}

}  // namespace
}  // namespace s2s::codec

S2S_PLUGIN("codec", "0.1.0", "Apache-2.0", "model:codec") {
  registrar.add(s2s::codec::component());
}
