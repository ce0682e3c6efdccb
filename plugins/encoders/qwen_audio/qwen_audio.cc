#include "qwen_audio.h"

#include <ATen/ATen.h>

#include <utility>

#include "s2s/nn/weights.h"

namespace s2s::qwen_audio {

AudioTower::AudioTower(const QwenAudioOptions& options, const std::string& place,
                       std::string weights_path)
    : options_(options),
      place_(place),
      weights_path_(std::move(weights_path)),
      outputs_(options.encoder_layers, place),
      features_(options.features()),
      norm_(options.d_model) {
  register_block("features", features_);
  for (int64_t i = 0; i < options.encoder_layers; ++i) {
    layers_.push_back(std::make_unique<EncoderLayer>(options.layer()));
    register_block("encoder.layers." + std::to_string(i), *layers_.back());
  }
}

AudioTower::~AudioTower() = default;

std::unique_ptr<EncoderStream> AudioTower::open_stream(int64_t) {
  throw sees_all_frames(place_, name_of(options_.family));
}

std::unique_ptr<WeightSource> AudioTower::initial_values() {
  if (weights_path_.empty()) return nullptr;
  return weight_source(*this, checkpoint_names(), WeightFiles::open(weights_path_));
}

NameMap AudioTower::names_of(const std::vector<std::pair<std::string, std::string>>& parts) const {
  NameMap names;
  for (const auto& [part, their_part] : parts) {
    const std::string ours = "encoder." + part + ".**", theirs = their_part + ".**";
    names.rules.push_back({ours, "audio_tower." + theirs});
    for (const char* prefix : {"model.audio_tower.", "thinker.audio_tower.", ""}) {
      names.other_spellings.push_back({ours, prefix + theirs});
    }
  }
  names.ignored = {"language_model.**",
                   "multi_modal_projector.**",
                   "model.language_model.**",
                   "model.multi_modal_projector.**",
                   "lm_head.**",
                   "model.layers.**",
                   "model.embed_tokens.**",
                   "model.norm.**",
                   "visual.**",
                   "thinker.model.**",
                   "thinker.visual.**",
                   "thinker.lm_head.**",
                   "talker.**",
                   "code2wav.**"};
  return names;
}

std::map<std::string, at::Tensor> AudioTower::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool) {
  const auto given = inputs.find("mel");
  const Mel mel = given == inputs.end()
                      ? mel_of(inputs.at("audio"), inputs.at("lengths"))
                      : Mel{given->second.to(at::kFloat), inputs.at("mel_lengths").to(at::kLong)};
  const int64_t longest = mel.lengths_B.numel() == 0 ? 0 : mel.lengths_B.max().item<int64_t>();
  std::map<std::string, at::Tensor> outputs = {{"mel", mel.mel_BFM},
                                               {"mel_lengths", mel.lengths_B},
                                               {"features", encode(mel, longest, outputs_)},
                                               {"lengths", frames_of(mel.lengths_B)}};
  if (!options_.is_omni()) return outputs;
  LayerOutputs first(options_.encoder_layers, place_);
  first.select({0}, false);
  outputs["layer_1"] = encode(mel, longest, first);
  return outputs;
}

}  // namespace s2s::qwen_audio
