#include "s2s/plugin.h"

#include "s2s/nn/weights.h"
#include "speaker_similarity.h"
#include "wav2vec2.h"

namespace s2s::wav2vec2 {
namespace {

constexpr const char* kTiny = R"({"hidden_size": 16, "num_hidden_layers": 2,
    "num_attention_heads": 2, "intermediate_size": 24, "conv_dim": [8, 8, 8],
    "conv_stride": [20, 4, 4], "conv_kernel": [40, 8, 4], "num_conv_pos_embeddings": 6,
    "num_conv_pos_embedding_groups": 2, "feat_extract_norm": "layer",
    "do_stable_layer_norm": true})";

template <Family family>
Config translate(const Config& foreign) {
  return options_from_hf(family, foreign);
}

template <Family family>
std::unique_ptr<Encoder> create(const Config& node, const BuildContext& context) {
  const Config config = with_encoder_folder(node, context, translate<family>);
  Wav2Vec2Options options = defaults_of(family, config);
  Findings findings;
  OptionReader(config, context.path, findings).read(options);
  findings.throw_if_any();
  check(options, context.path);
  return std::make_unique<Wav2Vec2>(options, context.path, options.path.value_or(""));
}

template <Family family>
OptionTable options() {
  Wav2Vec2Options defaults = defaults_of(family, {});
  return list_options(
      [](OptionVisitor& v, void* object) { static_cast<Wav2Vec2Options*>(object)->visit(v); },
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
}  // namespace s2s::wav2vec2

S2S_PLUGIN("wav2vec2", "0.1.0", "Apache-2.0",
           "encoder:wav2vec2\nencoder:hubert\nencoder:wavlm\nmetric:speaker_similarity") {
  using namespace s2s::wav2vec2;
  auto wav2vec2 = component<Family::kWav2Vec2>("wav2vec 2.0's encoder on audio; not live");
  auto hubert = component<Family::kHubert>("HuBERT's encoder on audio; not live");
  auto wavlm = component<Family::kWavLm>("WavLM's encoder on audio; not live");
  wav2vec2.tiny = kTiny;
  hubert.tiny = kTiny;
  wavlm.tiny = kTiny;
  wav2vec2.weights = {{"facebook/wav2vec2-base-960h", "Apache-2.0"}};
  hubert.weights = {{"facebook/hubert-base-ls960", "Apache-2.0"}};
  wavlm.weights = {{"microsoft/wavlm-base-plus", ""}};
  registrar.add(wav2vec2);
  registrar.add(hubert);
  registrar.add(wavlm);
  registrar.add(speaker_similarity());
}
