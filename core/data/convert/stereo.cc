// Dialogues in files of two channels, as Moshi's fine-tuning reads them: a JSONL file of {"path",
// "duration"}, a folder, or one file. Transcripts are beside the audio.

#include <cmath>
#include <filesystem>

#include "base/foreign_json.h"
#include "base/text.h"
#include "convert/convert_errors.h"
#include "convert/decoded_audio.h"
#include "convert/source_files.h"
#include "convert/transcript.h"
#include "files/line_reader.h"

namespace s2s::convert {
namespace {

namespace fs = std::filesystem;

struct StereoFile {
  std::string path;
  std::string id;
  std::string place;                 // in messages
  std::optional<double> duration_s;  // from the JSONL file
};

Cut make(const StereoFile& file, const ImportOptions& options) {
  const std::string audio = readable_audio(file.path, options);
  const data::AudioInfo facts = read_audio_info(audio);
  for (const int64_t channel : {options.agent_channel, options.user_channel}) {
    if (channel >= facts.num_channels) {
      throw convert_errors::channels(file.path, facts.num_channels, channel);
    }
  }
  if (file.duration_s && std::fabs(*file.duration_s - facts.duration_s()) > kLengthTolerance_s) {
    throw convert_errors::duration(file.place, facts.duration_s(), *file.duration_s);
  }
  Cut cut;
  cut.id = file.id;
  cut.duration_s = facts.duration_s();
  cut.channels = {options.user_channel};
  cut.recording = file_recording(file.id, audio, facts);
  cut.set_custom("target_audio", *cut.recording);
  cut.set_custom("target_audio_channel_selector",
                 JsonText{"[" + std::to_string(options.agent_channel) + "]"});
  const auto path = find_transcript(file.path);
  if (!path) return cut;
  Transcript transcript = read_transcript(*path, cut.duration_s);
  if (transcript.text_conditions) cut.set_custom("text_conditions", *transcript.text_conditions);
  const auto spoken = with_roles(std::move(transcript.spoken), options);
  add_turns(join_turns(spoken, options.pause_s), cut.duration_s, options.language, *path, cut);
  return cut;
}

class StereoFiles : public Importer {
 public:
  StereoFiles(const std::string& source, const ImportOptions& options);
  std::optional<Piece> next() override;
  void rewind() override { at_ = 0; }
  std::optional<int64_t> size() const override { return static_cast<int64_t>(names_.size()); }
  uint64_t fingerprint() const override { return fingerprint_; }

 private:
  void read_list();
  StereoFile file_at(size_t index) const;

  std::string source_;
  ImportOptions options_;
  // A list may have millions of lines, so only this is kept of each.
  std::vector<std::string> names_;     // paths, or the lines of a list
  std::vector<int64_t> line_numbers_;  // for a list
  size_t at_ = 0;
  uint64_t fingerprint_;
};

/// Resolves a path relative to the list's folder, as in Moshi's data sets, or else to the current
/// folder.
std::string found_path(const std::string& path, const fs::path& folder) {
  const fs::path beside = folder / path;
  std::error_code ignored;
  return fs::exists(beside, ignored) || !fs::exists(path, ignored) ? beside.string() : path;
}

std::string id_of(const std::string& path) {
  return fs::path(path).lexically_normal().relative_path().replace_extension().string();
}

StereoFile parse_line(const std::string& line, const std::string& place, const fs::path& folder) {
  const auto object = try_parse_foreign_json(line);
  const bool good = object.is_object() && object.contains("path") && object["path"].is_string() &&
                    (!object.contains("duration") || object["duration"].is_number());
  if (!good) {
    throw convert_errors::transcript(place, "the line is " + line,
                                     "{\"path\": FILE, \"duration\": SECONDS}");
  }
  const std::string path = object["path"];
  StereoFile file{found_path(path, folder), id_of(path), place, {}};
  if (object.contains("duration")) file.duration_s = object["duration"];
  return file;
}

void StereoFiles::read_list() {
  if (!fs::exists(source_)) throw convert_errors::missing(source_, "a list of files");
  data::LineReader lines(source_);
  for (std::string line; lines.next(line);) {
    if (is_blank_line(line)) continue;
    names_.push_back(line);
    line_numbers_.push_back(lines.line());
  }
}

StereoFiles::StereoFiles(const std::string& source, const ImportOptions& options)
    : source_(source), options_(options) {
  if (fs::is_directory(source)) {
    names_ = audio_files(source, options);
  } else if (is_read(source, options)) {
    names_ = {source};
  } else {
    read_list();
  }
  if (names_.empty()) throw convert_errors::no_audio(source);
  fingerprint_ = fingerprint_of(names_, options);
}

StereoFile StereoFiles::file_at(size_t index) const {
  const std::string& name = names_[index];
  if (!line_numbers_.empty()) {
    return parse_line(name, source_ + ":" + std::to_string(line_numbers_[index]),
                      fs::path(source_).parent_path());
  }
  const bool is_alone = name == source_;
  return {name, is_alone ? fs::path(name).stem().string() : name_below(name, source_), name, {}};
}

std::optional<Piece> StereoFiles::next() {
  if (at_ == names_.size()) return std::nullopt;
  StereoFile found = file_at(at_++);
  const std::string place = found.place;
  const auto state = [path = found.path, line = names_[at_ - 1]] {
    files::SourceState seen;
    seen.add(line);
    add_audio(path, seen);
    return seen.value();
  };
  return Piece{place,
               [this, file = std::move(found)] { return std::vector<Cut>{make(file, options_)}; },
               state};
}

}  // namespace

std::unique_ptr<Importer> import_stereo(const std::string& source, const ImportOptions& options) {
  return std::make_unique<StereoFiles>(source, options);
}

}  // namespace s2s::convert
