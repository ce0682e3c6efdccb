#include "s2s_run/synth/speaker.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <sstream>

#include "s2s_run/synth/synth_errors.h"

extern "C" {
#include <flite/cst_cg.h>
#include <flite/flite.h>
cst_voice* register_cmu_us_slt(const char* voxdir);
cst_voice* register_cmu_us_rms(const char* voxdir);
cst_voice* register_cmu_us_awb(const char* voxdir);
cst_voice* register_cmu_us_kal16(const char* voxdir);
}

namespace s2s::synth {

struct LoadedVoice {
  cst_voice* voice;
  float pitch_hz;
  float stretch;
};

namespace {

/// A statistical voice stores its mean pitch in its model, the diphone voice as a feature.
float mean_pitch_hz(cst_voice* voice) {
  if (feat_present(voice->features, "int_f0_target_mean")) {
    return feat_float(voice->features, "int_f0_target_mean");
  }
  return val_cg_db(feat_val(voice->features, "cg_db"))->f0_mean;
}

LoadedVoice load(cst_voice* voice) {
  return {voice, mean_pitch_hz(voice), get_param_float(voice->features, "duration_stretch", 1.0F)};
}

double segment_end_s(const cst_item* segment) {
  return static_cast<double>(item_feat_float(segment, "end"));
}

double first_segment_start_s(const cst_item* word) {
  const cst_item* segment = path_to_item(word, "R:SylStructure.daughter.daughter.R:Segment");
  const cst_item* previous = segment == nullptr ? nullptr : item_prev(segment);
  return previous == nullptr ? 0 : segment_end_s(previous);
}

std::vector<SpokenWord> spoken_words(cst_utterance* utterance) {
  std::vector<SpokenWord> words;
  const cst_item* word = relation_head(utt_relation(utterance, "Word"));
  for (; word != nullptr; word = item_next(word)) {
    const cst_item* last = path_to_item(word, "R:SylStructure.daughtern.daughtern.R:Segment");
    if (last == nullptr) continue;
    words.push_back(
        {item_feat_string(word, "name"), first_segment_start_s(word), segment_end_s(last)});
  }
  return words;
}

/// Removes the silence around the words except for a margin, and fades both edges.
Speech without_pauses(const cst_wave* wave, std::vector<SpokenWord> words) {
  constexpr double kMarginS = 0.02;
  const auto total = static_cast<int64_t>(wave->num_samples);
  const auto sample_at = [&](double time_s) {
    const auto sample = static_cast<int64_t>(time_s * static_cast<double>(kSpeechRateHz));
    return std::clamp<int64_t>(sample, 0, total);
  };
  const int64_t begin = sample_at(words.front().start_s - kMarginS);
  const int64_t end = sample_at(words.back().end_s + kMarginS);
  Speech speech;
  speech.samples.reserve(static_cast<size_t>(end - begin));
  for (int64_t i = begin; i < end; ++i) {
    speech.samples.push_back(static_cast<float>(wave->samples[i]) / 32768.0F);
  }
  const auto fade = static_cast<size_t>(kMarginS / 2 * static_cast<double>(kSpeechRateHz));
  const size_t count = speech.samples.size();
  for (size_t i = 0; i < std::min(fade, count / 2); ++i) {
    const float gain = static_cast<float>(i) / static_cast<float>(fade);
    speech.samples[i] *= gain;
    speech.samples[count - 1 - i] *= gain;
  }
  const double offset_s = static_cast<double>(begin) / static_cast<double>(kSpeechRateHz);
  for (SpokenWord& word : words) {
    word.start_s = std::max(0.0, word.start_s - offset_s);
    word.end_s -= offset_s;
  }
  speech.words = std::move(words);
  return speech;
}

}  // namespace

struct Speaker::Voices {
  std::array<LoadedVoice, 4> all;
};

const std::vector<std::string>& voice_names() {
  static const std::vector<std::string> names = {"slt", "rms", "awb", "kal16"};
  return names;
}

Speaker::Speaker() {
  flite_init();
  voices_ = std::make_unique<Voices>(
      Voices{{load(register_cmu_us_slt(nullptr)), load(register_cmu_us_rms(nullptr)),
              load(register_cmu_us_awb(nullptr)), load(register_cmu_us_kal16(nullptr))}});
}

Speaker::~Speaker() = default;

Speech Speaker::speak(const std::string& text, const VoiceSetting& setting) {
  const LoadedVoice& loaded = voices_->all.at(setting.voice);
  feat_set_float(loaded.voice->features, "int_f0_target_mean",
                 loaded.pitch_hz * static_cast<float>(setting.pitch));
  feat_set_float(loaded.voice->features, "duration_stretch",
                 loaded.stretch * static_cast<float>(setting.stretch));
  feat_set_int(loaded.voice->features, "mlsa_speed_param", setting.fast ? 8 : 0);
  // The voices use rand(). Without a fixed seed, the audio would depend on earlier calls.
  std::srand(1);
  const std::unique_ptr<cst_utterance, void (*)(cst_utterance*)> utterance(
      flite_synth_text(text.c_str(), loaded.voice), delete_utterance);
  if (utterance == nullptr) throw speech_failed(text, voice_names().at(setting.voice));
  std::vector<SpokenWord> words = spoken_words(utterance.get());
  std::istringstream expected(text);
  size_t count = 0;
  for (std::string word; expected >> word; ++count) {
    if (count < words.size()) words[count].text = word;
  }
  if (words.empty() || count != words.size()) {
    throw speech_failed(text, voice_names().at(setting.voice));
  }
  return without_pauses(utt_wave(utterance.get()), std::move(words));
}

}  // namespace s2s::synth
