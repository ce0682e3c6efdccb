// Dialogues in pairs of files: folders "user" and "agent" with files of the same names, or
// NAME_user.wav beside NAME_agent.wav.

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>

#include "convert/convert_errors.h"
#include "convert/decoded_audio.h"
#include "convert/source_files.h"
#include "convert/transcript.h"

namespace s2s::convert {
namespace {

namespace fs = std::filesystem;

enum Side { kUser = 0, kAgent = 1 };
constexpr std::array kRoles = {"user", "agent"};

struct Pair {
  std::string name;
  std::array<std::vector<std::string>, 2> files;  // by side; more than one is ambiguous
};

class WavePairs : public Importer {
 public:
  WavePairs(const std::string& folder, const ImportOptions& options);
  std::optional<Piece> next() override;
  void rewind() override { at_ = pairs_.begin(); }
  std::optional<int64_t> size() const override { return static_cast<int64_t>(pairs_.size()); }
  uint64_t fingerprint() const override { return fingerprint_; }

 private:
  void add(Side side, std::string name, const std::string& file);
  Cut make(const Pair& pair) const;
  uint64_t state(const Pair& pair) const;
  /// Returns the audio file whose transcript would belong to both.
  std::string shared_name(const Pair& pair) const {
    return (fs::path(folder_) / (pair.name + ".wav")).string();
  }
  std::vector<Spoken> transcripts(const Pair& pair, double audio_s) const;
  const std::string& speaker(Side side) const {
    return side == kUser ? options_.user : options_.agent;
  }

  std::string folder_;
  ImportOptions options_;
  std::map<std::string, Pair> pairs_;
  std::map<std::string, Pair>::const_iterator at_;
  uint64_t fingerprint_;
};

WavePairs::WavePairs(const std::string& folder, const ImportOptions& options)
    : folder_(folder), options_(options) {
  const bool by_folder = fs::is_directory(fs::path(folder) / options.user) &&
                         fs::is_directory(fs::path(folder) / options.agent);
  std::vector<std::string> names;
  for (const Side side : {kUser, kAgent}) {
    const std::string below = by_folder ? (fs::path(folder) / speaker(side)).string() : folder;
    for (const std::string& file : audio_files(below, options)) {
      const std::string name = name_below(file, below);
      const auto shared = by_folder ? name : without_speaker(name, speaker(side));
      if (shared) add(side, *shared, file);
      names.push_back(file);
    }
  }
  if (pairs_.empty()) {
    throw convert_errors::source(folder, "it has neither folders '" + options.user + "' and '" +
                                             options.agent + "' nor files NAME_" + options.user +
                                             ".wav and NAME_" + options.agent + ".wav");
  }
  fingerprint_ = fingerprint_of(names, options);
  at_ = pairs_.begin();
}

void WavePairs::add(Side side, std::string name, const std::string& file) {
  Pair& pair = pairs_[name];
  pair.name = std::move(name);
  pair.files[side].push_back(file);
}

std::optional<Piece> WavePairs::next() {
  if (at_ == pairs_.end()) return std::nullopt;
  const Pair& pair = (at_++)->second;
  const std::string& file = pair.files[pair.files[kUser].empty() ? kAgent : kUser].front();
  return Piece{file, [this, &pair] { return std::vector<Cut>{make(pair)}; },
               [this, &pair] { return state(pair); }};
}

uint64_t WavePairs::state(const Pair& pair) const {
  files::SourceState seen;
  for (const auto& files : pair.files) {
    for (const std::string& file : files) add_audio(file, seen);
  }
  add_transcript(shared_name(pair), seen);
  return seen.value();
}

/// Reads each file's own transcript, or one with labels for both.
std::vector<Spoken> WavePairs::transcripts(const Pair& pair, double audio_s) const {
  std::vector<Spoken> all;
  for (const Side side : {kUser, kAgent}) {
    const auto path = find_transcript(pair.files[side].front());
    if (!path) continue;
    for (Spoken& part : read_transcript(*path, audio_s).spoken) {
      part.speaker = kRoles[side];
      all.push_back(std::move(part));
    }
  }
  const auto shared = find_transcript(shared_name(pair));
  if (!all.empty() || !shared) return all;
  return with_roles(read_transcript(*shared, audio_s).spoken, options_);
}

Cut WavePairs::make(const Pair& pair) const {
  std::array<data::AudioInfo, 2> facts;
  std::array<std::string, 2> audio;
  for (const Side side : {kUser, kAgent}) {
    const auto& files = pair.files[side];
    const Side other = side == kUser ? kAgent : kUser;
    if (files.size() > 1) throw convert_errors::ambiguous(files[0], files[1]);
    if (files.empty()) {
      throw convert_errors::partner(pair.files[other].front(),
                                    "a file '" + pair.name + "' of '" + speaker(side) + "'");
    }
    audio[side] = readable_audio(files.front(), options_);
    facts[side] = read_audio_info(audio[side]);
    if (facts[side].num_channels != 1) {
      throw convert_errors::not_mono(files.front(), facts[side].num_channels);
    }
  }
  const double user_s = facts[kUser].duration_s();
  const double agent_s = facts[kAgent].duration_s();
  const std::string& user_file = pair.files[kUser].front();
  const std::string& agent_file = pair.files[kAgent].front();
  if (std::fabs(user_s - agent_s) > kLengthTolerance_s && options_.lengths == Lengths::kError) {
    throw convert_errors::lengths(user_file, user_s, agent_file, agent_s);
  }
  Cut cut;
  cut.id = pair.name;
  cut.duration_s = std::min(user_s, agent_s);
  cut.recording = file_recording(pair.name + "-user", audio[kUser], facts[kUser]);
  cut.set_custom("target_audio",
                 file_recording(pair.name + "-agent", audio[kAgent], facts[kAgent]));
  auto turns = join_turns(transcripts(pair, cut.duration_s), options_.pause_s);
  if (options_.lengths == Lengths::kShorter) turns = until(std::move(turns), cut.duration_s);
  add_turns(turns, cut.duration_s, options_.language, user_file, cut);
  return cut;
}

}  // namespace

std::unique_ptr<Importer> import_wave_pairs(const std::string& folder,
                                            const ImportOptions& options) {
  return std::make_unique<WavePairs>(folder, options);
}

}  // namespace s2s::convert
