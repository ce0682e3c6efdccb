#include "s2s/plugin.h"

#include "s2s/nn/weights.h"
#include "whisper.h"

namespace s2s::whisper {
namespace {

std::unique_ptr<Encoder> create(const Config& node, const BuildContext& context) {
  const Config config = with_encoder_folder(node, context, whisper_from_hf);
  WhisperOptions options = defaults_of(config);
  Findings findings;
  OptionReader(config, context.path, findings).read(options);
  findings.throw_if_any();
  check(options, context.path);
  return std::make_unique<Whisper>(options, context.path, options.path.value_or(""));
}

Component<Encoder> component() {
  return {.name = "whisper",
          .summary = "Whisper's encoder and log-mel features; windows of 30 s, not live",
          .create = create,
          .options = list_options<WhisperOptions>,
          .translate = whisper_from_hf,
          .tiny = R"({"num_mel_bins": 16, "d_model": 16, "encoder_layers": 2,
                      "encoder_attention_heads": 2, "encoder_ffn_dim": 24,
                      "max_source_positions": 50})"};
}

}  // namespace
}  // namespace s2s::whisper

S2S_PLUGIN("whisper", "0.1.0", "Apache-2.0", "encoder:whisper") {
  registrar.add(s2s::whisper::component());
}
