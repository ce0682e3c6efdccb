// Kaldi data directories: wav.scp and, if they exist, segments, text, utt2spk, spk2gender,
// utt2lang, reco2dur, utt2dur. Numbers and ids are those of lhotse's load_kaldi_data_dir followed
// by CutSet.from_manifests.

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/number_text.h"
#include "convert/convert_errors.h"
#include "convert/kaldi_files.h"
#include "convert/source_files.h"
#include "cuts/cut_operations.h"
#include "s2s/data/frames.h"

namespace s2s::convert {
namespace {

namespace fs = std::filesystem;

class Kaldi : public Importer {
 public:
  Kaldi(const std::string& folder, const ImportOptions& options);
  std::optional<Piece> next() override;
  void rewind() override { next_problem_ = next_recording_ = 0; }
  std::optional<int64_t> size() const override {
    return static_cast<int64_t>(problems_.size() + recordings_.lines().size());
  }
  uint64_t fingerprint() const override { return fingerprint_; }

 private:
  KaldiFile open(const char* name) { return KaldiFile((folder_ / name).string(), problems_); }
  bool is_paired() const { return !options_.user_suffix.empty(); }
  std::optional<double> written_duration(const KaldiLine& line) const;
  Recording recording(const KaldiLine& line) const;
  Supervision supervision(const std::string& id, const Recording& recording,
                          const std::string& place) const;
  std::vector<Supervision> supervisions(const Recording& recording) const;
  uint64_t state(const KaldiLine& line) const;
  void add_line(const KaldiLine& line, files::SourceState& state) const;
  void add_utterance(const std::string& id, files::SourceState& state) const;
  Cut single(const KaldiLine& line, int64_t index) const;
  Cut paired(const KaldiLine& user) const;

  fs::path folder_;
  ImportOptions options_;
  std::vector<Error> problems_;  // of lines; the first calls of `next` throw them
  KaldiFile recordings_, segments_, texts_, speakers_, genders_, languages_, durations_,
      utterance_durations_;
  std::unordered_map<std::string, std::vector<KaldiSegment>> segments_of_;
  size_t next_problem_ = 0;
  size_t next_recording_ = 0;
  uint64_t fingerprint_ = 0;
};

Kaldi::Kaldi(const std::string& folder, const ImportOptions& options)
    : folder_(folder),
      options_(options),
      recordings_(open("wav.scp")),
      segments_(open("segments")),
      texts_(open("text")),
      speakers_(open("utt2spk")),
      genders_(open("spk2gender")),
      languages_(open("utt2lang")),
      durations_(open("reco2dur")),
      utterance_durations_(open("utt2dur")),
      segments_of_(kaldi_segments(segments_, recordings_, problems_)) {
  if (!recordings_.exists()) {
    throw convert_errors::missing(recordings_.path(), "the recordings of a Kaldi data directory");
  }
  std::vector<std::string> names = {folder};
  for (const auto& line : recordings_.lines()) names.push_back(line.key + " " + line.value);
  names.push_back(std::to_string(segments_.lines().size()));
  fingerprint_ = fingerprint_of(names, options);
}

std::optional<Piece> Kaldi::next() {
  if (next_problem_ < problems_.size()) throw problems_[next_problem_++];
  while (next_recording_ < recordings_.lines().size()) {
    const auto index = static_cast<int64_t>(next_recording_);
    const KaldiLine& line = recordings_.lines()[next_recording_++];
    const std::string place = recordings_.place(line);
    if (!is_paired()) {
      return Piece{place, [this, &line, index] { return std::vector<Cut>{single(line, index)}; },
                   [this, &line] { return state(line); }};
    }
    if (line.key.ends_with(options_.user_suffix)) {
      return Piece{place, [this, &line] { return std::vector<Cut>{paired(line)}; },
                   [this, &line] { return state(line); }};
    }
    const std::string stem = line.key.substr(
        0, line.key.size() - std::min(line.key.size(), options_.agent_suffix.size()));
    if (recordings_.find(stem + options_.user_suffix) == nullptr ||
        !line.key.ends_with(options_.agent_suffix)) {
      throw convert_errors::kaldi_missing(place, stem + options_.user_suffix, recordings_.path());
    }
  }
  return std::nullopt;
}

void Kaldi::add_utterance(const std::string& id, files::SourceState& state) const {
  const std::string speaker = speakers_.value(id).value_or("");
  for (const auto& value : {texts_.value(id), std::optional(speaker), genders_.value(speaker),
                            languages_.value(id), utterance_durations_.value(id)}) {
    state.add(uint64_t{value.has_value()});
    state.add(value.value_or(""));
  }
}

/// Adds the lines of a recording in all files. A command counts by its text, a file by its stamp.
void Kaldi::add_line(const KaldiLine& line, files::SourceState& state) const {
  state.add(line.key);
  state.add(durations_.value(line.key).value_or(""));
  if (line.value.ends_with("|")) {
    state.add(line.value);
  } else {
    state.add_file(line.value);
    state.add_file((folder_ / line.value).string());
  }
  add_utterance(line.key, state);
  const auto segments = segments_of_.find(line.key);
  if (segments == segments_of_.end()) return;
  for (const KaldiSegment& segment : segments->second) {
    const KaldiLine* const written = segments_.find(segment.id);
    state.add(written == nullptr ? segment.id : written->key + " " + written->value);
    add_utterance(segment.id, state);
  }
}

uint64_t Kaldi::state(const KaldiLine& line) const {
  files::SourceState state;
  add_line(line, state);
  if (!is_paired()) return state.value();
  const std::string stem = line.key.substr(0, line.key.size() - options_.user_suffix.size());
  const KaldiLine* const agent = recordings_.find(stem + options_.agent_suffix);
  if (agent != nullptr) add_line(*agent, state);
  return state.value();
}

/// Returns the duration in reco2dur. Without it, returns that in utt2dur for commands whose
/// recordings are utterances, so that they need not be run.
std::optional<double> Kaldi::written_duration(const KaldiLine& line) const {
  const bool of_utterances = !durations_.exists() && !segments_.exists() &&
                             utterance_durations_.exists() && line.value.ends_with("|");
  if (!durations_.exists() && !of_utterances) return std::nullopt;
  const KaldiFile& file = of_utterances ? utterance_durations_ : durations_;
  const KaldiLine* const written = file.find(line.key);
  if (written == nullptr) {
    throw convert_errors::kaldi_missing(recordings_.place(line), line.key, file.path());
  }
  const auto seconds = read_number<double>(written->value);
  if (!seconds || !(*seconds > 0)) {
    throw convert_errors::kaldi_line(file.place(*written), written->key + " " + written->value,
                                     "RECORDING SECONDS");
  }
  return seconds;
}

/// Source: lhotse/kaldi.py, which rounds to milliseconds and then to samples, and removes the '|'
/// of a command.
Recording Kaldi::recording(const KaldiLine& line) const {
  const std::string place = recordings_.place(line);
  if (line.value.empty()) {
    throw convert_errors::kaldi_line(place, line.key, "RECORDING FILE or RECORDING COMMAND |");
  }
  const bool is_command = line.value.ends_with("|");
  AudioSource source;
  source.type = is_command ? AudioSource::Type::kCommand : AudioSource::Type::kFile;
  source.channels = {0};
  source.source = is_command ? line.value.substr(0, line.value.size() - 1) : line.value;
  std::error_code ignored;
  if (!is_command && !fs::exists(source.source, ignored) &&
      fs::exists(folder_ / source.source, ignored)) {
    source.source = (folder_ / source.source).string();
  }
  Recording result;
  result.id = line.key;
  result.sample_rate_hz = options_.sample_rate_hz;
  const auto written_s = written_duration(line);
  result.duration_s = written_s.value_or(0);
  if (!written_s || options_.sample_rate_hz == 0) {
    const data::AudioInfo facts =
        is_command ? read_command_info(source.source, place) : read_audio_info(source.source);
    if (facts.num_channels != 1) throw convert_errors::not_mono(place, facts.num_channels);
    if (options_.sample_rate_hz != 0 && facts.sample_rate_hz != options_.sample_rate_hz) {
      throw convert_errors::sample_rate(place, facts.sample_rate_hz, options_.sample_rate_hz);
    }
    if (written_s && std::fabs(*written_s - facts.duration_s()) > kLengthTolerance_s) {
      throw convert_errors::duration(durations_.path(), facts.duration_s(), *written_s);
    }
    result.sample_rate_hz = facts.sample_rate_hz;
    if (!written_s) result.duration_s = std::floor(1000 * facts.duration_s()) / 1000;
  } else if (!is_command && !fs::exists(source.source, ignored)) {
    throw convert_errors::missing(place + ": " + source.source, "an audio file");
  }
  result.num_samples = compute_num_samples(result.duration_s, result.sample_rate_hz);
  result.channel_ids = {0};
  result.sources = {std::move(source)};
  return result;
}

Supervision Kaldi::supervision(const std::string& id, const Recording& recording,
                               const std::string& place) const {
  Supervision turn;
  turn.id = id;
  turn.recording_id = recording.id;
  turn.duration_s = recording.duration_s;
  turn.text = texts_.value(id);
  if (texts_.exists() && !turn.text) throw convert_errors::kaldi_missing(place, id, texts_.path());
  turn.speaker = speakers_.value(id).value_or("");
  if (speakers_.exists() && turn.speaker.empty()) {
    throw convert_errors::kaldi_missing(place, id, speakers_.path());
  }
  turn.language = languages_.value(id);
  if (!turn.language && !options_.language.empty()) turn.language = options_.language;
  turn.gender = genders_.value(turn.speaker);
  return turn;
}

/// Returns the supervisions in segments. Without segments the recording is one utterance.
std::vector<Supervision> Kaldi::supervisions(const Recording& recording) const {
  const bool whole = speakers_.exists() || texts_.exists();
  if (!segments_.exists()) {
    if (!whole) return {};
    return {
        supervision(recording.id, recording, recordings_.place(*recordings_.find(recording.id)))};
  }
  std::vector<Supervision> turns;
  const auto found = segments_of_.find(recording.id);
  if (found == segments_of_.end()) return turns;
  const int64_t rate_hz = recording.sample_rate_hz;
  for (const KaldiSegment& segment : found->second) {
    const double end_s = segment.end_s.value_or(recording.duration_s);
    if (segment.start_s < 0 || segment.start_s >= end_s ||
        end_s > recording.duration_s + kLengthTolerance_s) {
      throw convert_errors::time(segment.place, segment.start_s, end_s, recording.duration_s);
    }
    turns.push_back(supervision(segment.id, recording, segment.place));
    turns.back().start_s = segment.start_s;
    turns.back().duration_s = static_cast<double>(compute_num_samples(end_s, rate_hz) +
                                                  compute_num_samples(-segment.start_s, rate_hz)) /
                              static_cast<double>(rate_hz);
  }
  return turns;
}

Cut Kaldi::single(const KaldiLine& line, int64_t index) const {
  Cut cut;
  cut.id = line.key + "-" + std::to_string(index);
  cut.recording = recording(line);
  cut.duration_s = cut.recording->duration_s;
  cut.supervisions = supervisions(*cut.recording);
  return cut;
}

/// Sorts turns by time; the speakers' names become "speaker_id".
Cut Kaldi::paired(const KaldiLine& user) const {
  const std::string stem = user.key.substr(0, user.key.size() - options_.user_suffix.size());
  const KaldiLine* const agent = recordings_.find(stem + options_.agent_suffix);
  if (agent == nullptr) {
    throw convert_errors::kaldi_missing(recordings_.place(user), stem + options_.agent_suffix,
                                        recordings_.path());
  }
  Cut cut;
  cut.id = stem;
  cut.recording = recording(user);
  const Recording target = recording(*agent);
  const double user_s = cut.recording->duration_s;
  if (std::fabs(user_s - target.duration_s) > kLengthTolerance_s &&
      options_.lengths == Lengths::kError) {
    throw convert_errors::lengths(user.key, user_s, agent->key, target.duration_s);
  }
  cut.duration_s = std::min(user_s, target.duration_s);
  cut.set_custom("target_audio", target);
  for (const auto& [role, side] :
       {std::pair<const char*, const Recording*>("user", &*cut.recording), {"agent", &target}}) {
    for (Supervision& turn : supervisions(*side)) {
      if (turn.start_s >= cut.duration_s) continue;
      if (!turn.speaker.empty()) set_speaker_id(turn.speaker, turn);
      turn.speaker = role;
      turn.recording_id = cut.recording->id;
      turn.duration_s = std::min(turn.duration_s, round_time(cut.duration_s - turn.start_s));
      cut.supervisions.push_back(std::move(turn));
    }
  }
  sort_by_start(cut.supervisions);
  return cut;
}

}  // namespace

std::unique_ptr<Importer> import_kaldi(const std::string& folder, const ImportOptions& options) {
  return std::make_unique<Kaldi>(folder, options);
}

}  // namespace s2s::convert
