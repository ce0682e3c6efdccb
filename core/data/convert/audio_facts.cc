#include "convert/audio_facts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <numeric>

#include "convert/convert_errors.h"
#include "files/pipe_command.h"

namespace s2s::convert {
namespace {

constexpr std::array kAudioEndings = {".wav", ".flac", ".ogg", ".opus", ".mp3", ".sph", ".aiff"};

}  // namespace

data::AudioInfo read_audio_info(const std::string& path) {
  if (!std::filesystem::exists(path)) throw convert_errors::missing(path, "an audio file");
  data::AudioInfo info;
  try {
    info = data::AudioReader(path).info();
  } catch (const std::runtime_error& error) {
    throw convert_errors::unreadable_audio(path, error.what());
  }
  if (info.num_samples <= 0) throw convert_errors::unreadable_audio(path, "it has no samples");
  return info;
}

data::AudioInfo read_command_info(const std::string& command, const std::string& place) {
  data::AudioInfo info;
  try {
    const auto bytes = std::make_shared<const std::string>(files::read_command(command));
    info = data::AudioReader(bytes).info();
  } catch (const Error& error) {
    throw convert_errors::command(place, error);
  } catch (const std::runtime_error& error) {
    throw convert_errors::unreadable_audio(place, error.what());
  }
  if (info.num_samples <= 0) throw convert_errors::unreadable_audio(place, "it has no samples");
  return info;
}

Recording file_recording(const std::string& id, const std::string& path,
                         const data::AudioInfo& info) {
  Recording recording;
  recording.id = id;
  AudioSource source;
  source.channels.resize(static_cast<size_t>(info.num_channels));
  std::iota(source.channels.begin(), source.channels.end(), 0);
  source.source = path;
  recording.channel_ids = source.channels;
  recording.sources = {std::move(source)};
  recording.sample_rate_hz = info.sample_rate_hz;
  recording.num_samples = info.num_samples;
  recording.duration_s = info.duration_s();
  return recording;
}

bool is_audio_name(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kAudioEndings.begin(), kAudioEndings.end(), ending) != kAudioEndings.end();
}

}  // namespace s2s::convert
