#include "s2s/plugin.h"

#include "qwen_audio.h"

namespace s2s::qwen_audio {
namespace {

constexpr const char* kTiny = R"({"num_mel_bins": 16, "d_model": 16, "encoder_layers": 2,
    "encoder_attention_heads": 2, "encoder_ffn_dim": 24, "max_source_positions": 50})";
constexpr const char* kTinyOmni = R"({"num_mel_bins": 16, "d_model": 16, "encoder_layers": 2,
    "encoder_attention_heads": 2, "encoder_ffn_dim": 24, "n_window_infer": 100,
    "output_dim": 12, "downsample_hidden_size": 4})";

template <Family family>
Config translate(const Config& foreign) {
  return options_from_hf(family, foreign);
}

template <Family family>
std::unique_ptr<Encoder> create(const Config& node, const BuildContext& context) {
  const Config config = with_encoder_folder(node, context, translate<family>);
  QwenAudioOptions options = defaults_of(family);
  Findings findings;
  OptionReader(config, context.path, findings).read(options);
  findings.throw_if_any();
  check(options, context.path);
  return options.is_omni() ? make_qwen3_omni(options, context.path)
                           : make_qwen2(options, context.path);
}

template <Family family>
OptionTable options() {
  QwenAudioOptions defaults = defaults_of(family);
  return list_options(
      [](OptionVisitor& v, void* object) { static_cast<QwenAudioOptions*>(object)->visit(v); },
      &defaults);
}

template <Family family>
Component<Encoder> component(const char* summary) {
  return {.name = name_of(family),
          .summary = summary,
          .create = create<family>,
          .options = options<family>,
          .translate = translate<family>};
}

}  // namespace
}  // namespace s2s::qwen_audio

S2S_PLUGIN("qwen_audio", "0.1.0", "Apache-2.0", "encoder:qwen2_audio\nencoder:qwen3_omni_audio") {
  using namespace s2s::qwen_audio;
  auto qwen2 = component<Family::kQwen2>("the audio tower of Qwen2-Audio; windows of 30 s");
  auto omni = component<Family::kQwen3Omni>("the audio tower of Qwen3-Omni; not live");
  qwen2.tiny = kTiny;
  omni.tiny = kTinyOmni;
  qwen2.weights = {{"Qwen/Qwen2-Audio-7B", "Apache-2.0"}};
  omni.weights = {{"Qwen/Qwen3-Omni-30B-A3B-Instruct", "Apache-2.0"}};
  registrar.add(qwen2);
  registrar.add(omni);
}
