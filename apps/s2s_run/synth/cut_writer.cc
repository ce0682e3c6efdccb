#include "s2s_run/synth/cut_writer.h"

#include <ATen/Functions.h>
#include <sndfile.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "s2s_run/synth/synth_errors.h"

namespace s2s::synth {

namespace {

using Json = nlohmann::ordered_json;

/// Rounds to 8 decimals, as Lhotse does.
double rounded(double time_s) { return std::round(time_s * 1e8) / 1e8; }

std::vector<float> resampled(const Resampler& resampler, const std::vector<float>& samples) {
  const at::Tensor output_S = resampler(at::tensor(samples)).contiguous();
  const float* data = output_S.const_data_ptr<float>();
  return {data, data + output_S.numel()};
}

std::vector<int16_t> as_int16(const std::vector<float>& samples) {
  std::vector<int16_t> out(samples.size());
  std::transform(samples.begin(), samples.end(), out.begin(), [](float x) {
    return static_cast<int16_t>(std::lrint(std::clamp(x, -1.0F, 32767.0F / 32768.0F) * 32768.0F));
  });
  return out;
}

std::string reason_of(SNDFILE* file) {
  return errno != 0 ? std::strerror(errno) : sf_strerror(file);
}

Json recording(const std::string& id, const std::string& source, int64_t rate_hz, int64_t samples) {
  return {{"id", id},
          {"sources", Json::array({{{"type", "file"}, {"channels", {0}}, {"source", source}}})},
          {"sampling_rate", rate_hz},
          {"num_samples", samples},
          {"duration", rounded(static_cast<double>(samples) / static_cast<double>(rate_hz))},
          {"channel_ids", {0}}};
}

Json supervision(const std::string& id, const std::string& recording_id, const SpokenTurn& turn) {
  Json words = Json::array();
  for (const SpokenWord& word : turn.words) {
    words.push_back(
        {word.text, rounded(word.start_s), rounded(std::max(0.0, word.end_s - word.start_s))});
  }
  Json out = {{"id", id},
              {"recording_id", recording_id},
              {"start", rounded(turn.start_s)},
              {"duration", rounded(turn.end_s - turn.start_s)},
              {"channel", 0},
              {"text", turn.text},
              {"language", "English"},
              {"speaker", turn.is_agent ? "agent" : "user"}};
  if (turn.interrupted) out["custom"] = {{"interrupted", true}};
  out["alignment"] = {{"word", words}};
  return out;
}

}  // namespace

CutWriter::CutWriter(std::filesystem::path folder, const SetOptions& options)
    : folder_(std::move(folder)),
      agent_rate_hz_(options.sample_rate_hz),
      resampler_(kSpeechRateHz, options.sample_rate_hz),
      audio_format_(options.audio_format) {}

std::string CutWriter::write(const std::string& split, const std::string& id,
                             const Dialogue& dialogue) const {
  const std::string stem = "audio/" + split + "/" + id;
  const std::string user_path = stem + "_user." + audio_format_;
  const std::string agent_path = stem + "_agent." + audio_format_;
  const int64_t agent_samples = dialogue.frames * agent_rate_hz_ * kFrameMs / 1000;
  std::vector<float> agent = resampled(resampler_, dialogue.agent);
  agent.resize(static_cast<size_t>(agent_samples), 0.0F);
  write_audio(user_path, dialogue.user, kSpeechRateHz);
  write_audio(agent_path, agent, agent_rate_hz_);

  const std::string user_id = id + "-user";
  Json supervisions = Json::array();
  for (size_t i = 0; i < dialogue.turns.size(); ++i) {
    supervisions.push_back(supervision(id + "-" + std::to_string(i), user_id, dialogue.turns[i]));
  }
  const auto user_samples = static_cast<int64_t>(dialogue.user.size());
  const Json user = recording(user_id, user_path, kSpeechRateHz, user_samples);
  const Json cut = {
      {"id", id},
      {"start", 0.0},
      {"duration", user["duration"]},
      {"channel", 0},
      {"supervisions", supervisions},
      {"recording", user},
      {"custom",
       {{"target_audio", recording(id + "-agent", agent_path, agent_rate_hz_, agent_samples)}}},
      {"type", "MonoCut"}};
  return cut.dump() + "\n";
}

void CutWriter::write_audio(const std::string& relative_path, const std::vector<float>& samples,
                            int64_t rate_hz) const {
  const std::string path = (folder_ / relative_path).string();
  SF_INFO info = {};
  info.samplerate = static_cast<int>(rate_hz);
  info.channels = 1;
  info.format = SF_FORMAT_PCM_16 | (audio_format_ == "flac" ? SF_FORMAT_FLAC : SF_FORMAT_WAV);
  errno = 0;
  SNDFILE* file = sf_open(path.c_str(), SFM_WRITE, &info);
  if (file == nullptr) throw cannot_write(path, reason_of(nullptr));
  double level = 0.1;  // 0 to 1; larger: smaller files, slower
  if (audio_format_ == "flac") sf_command(file, SFC_SET_COMPRESSION_LEVEL, &level, sizeof level);
  const std::vector<int16_t> pcm = as_int16(samples);
  const auto count = static_cast<sf_count_t>(pcm.size());
  const bool written = sf_write_short(file, pcm.data(), count) == count;
  const std::string reason = reason_of(file);
  if (sf_close(file) != 0 || !written) throw cannot_write(path, reason);
}

}  // namespace s2s::synth
