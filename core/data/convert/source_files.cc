#include "convert/source_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/fnv.h"
#include "convert/convert_errors.h"
#include "convert/decoded_audio.h"
#include "convert/transcript.h"
#include "files/pipe_command.h"
#include "streams/nemo_cut.h"

namespace s2s::convert {
namespace {

constexpr std::array kAudioEndings = {".wav", ".flac", ".ogg", ".opus", ".mp3", ".sph", ".aiff"};

}  // namespace

namespace fs = std::filesystem;

std::vector<std::string> audio_files(const std::string& folder, const ImportOptions& import) {
  if (!fs::is_directory(folder)) throw convert_errors::missing(folder, "a folder");
  std::vector<std::string> files;
  const auto options = fs::directory_options::follow_directory_symlink;
  for (const auto& entry : fs::recursive_directory_iterator(folder, options)) {
    const bool is_hidden = entry.path().filename().string().starts_with(".");
    const std::string path = entry.path().string();
    if (!entry.is_regular_file() || !is_read(path, import)) continue;
    if (is_audio_name(path) || !is_hidden) files.push_back(path);
  }
  std::set<std::string> read_as_they_are;
  for (const std::string& file : files) {
    if (is_audio_name(file)) read_as_they_are.insert(name_below(file, folder));
  }
  std::erase_if(files, [&](const std::string& file) {
    return !is_audio_name(file) && read_as_they_are.contains(name_below(file, folder));
  });
  std::sort(files.begin(), files.end());
  return files;
}

std::string name_below(const std::string& path, const std::string& folder) {
  return fs::path(path).lexically_relative(folder).replace_extension().string();
}

std::optional<std::string> without_speaker(const std::string& name, const std::string& speaker) {
  if (name.size() < speaker.size() + 2 || !name.ends_with(speaker)) return std::nullopt;
  const size_t at = name.size() - speaker.size() - 1;
  if (std::string("_-.").find(name[at]) == std::string::npos) return std::nullopt;
  return name.substr(0, at);
}

bool is_agent(const std::string& label, const ImportOptions& options) {
  if (label == options.user) return false;
  return label.empty() || label == options.agent || label == options.main_speaker;
}

std::vector<Spoken> with_roles(std::vector<Spoken> spoken, const ImportOptions& options) {
  for (Spoken& part : spoken) part.speaker = is_agent(part.speaker, options) ? "agent" : "user";
  return spoken;
}

void set_speaker_id(const std::string& name, Supervision& turn) {
  turn.custom.emplace_back("speaker_id", JsonText{nlohmann::json(name).dump()});
}

uint64_t fingerprint_of(const std::vector<std::string>& names, const ImportOptions& options) {
  uint64_t hash = fnv1a(options.from);
  const auto mix = [&hash](const std::string& text) { hash = fnv1a("|", fnv1a(text, hash)); };
  // The empty text is the value of a former option; it keeps unfinished conversions valid.
  for (const std::string& text :
       {options.user, options.agent, options.main_speaker, options.supervisions, std::string(),
        options.user_suffix, options.agent_suffix, options.language,
        std::to_string(options.user_channel), std::to_string(options.agent_channel),
        std::to_string(options.pause_s), std::to_string(static_cast<int>(options.lengths)),
        std::to_string(options.sample_rate_hz)}) {
    mix(text);
  }
  for (const std::string& name : names) mix(name);
  return hash;
}

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

void add_transcript(const std::string& audio_path, files::SourceState& state) {
  const auto transcript = find_transcript(audio_path);
  if (transcript) state.add_file(*transcript);
  state.add(uint64_t{transcript.has_value()});
}

void add_audio(const std::string& path, files::SourceState& state) {
  state.add_file(path);
  add_transcript(path, state);
}

Recording file_recording(const std::string& id, const std::string& path,
                         const data::AudioInfo& info) {
  Recording recording;
  data::describe_audio(info, recording);
  recording.id = id;
  recording.sources.front().source = path;
  return recording;
}

bool is_audio_name(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kAudioEndings.begin(), kAudioEndings.end(), ending) != kAudioEndings.end();
}

}  // namespace s2s::convert
