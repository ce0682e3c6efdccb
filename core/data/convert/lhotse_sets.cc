// Lhotse's recordings and supervisions as the cuts that CutSet.from_manifests makes, and recordings
// of two speakers on two channels as duplex cuts.

#include <algorithm>
#include <filesystem>
#include <map>

#include "convert/convert_errors.h"
#include "convert/source_files.h"
#include "cuts/cut_files.h"
#include "cuts/cut_json.h"
#include "cuts/cut_operations.h"
#include "files/json_fields.h"
#include "files/line_reader.h"

namespace s2s::convert {
namespace {

namespace fs = std::filesystem;

struct Line {
  std::string text;
  int64_t number = 0;
};

class LhotseSets : public Importer {
 public:
  LhotseSets(const std::string& recordings, const ImportOptions& options);
  std::optional<Piece> next() override;
  void rewind() override;
  uint64_t fingerprint() const override { return fingerprint_; }

 private:
  void read_supervisions();
  std::vector<Supervision> supervisions(const std::vector<Line>& lines) const;
  Cut make(const Line& line, int64_t index) const;
  void make_duplex(Cut& cut) const;

  std::string recordings_path_;
  std::string supervisions_path_;
  ImportOptions options_;
  std::optional<data::LineReader> recordings_;
  std::map<std::string, std::vector<Line>> supervisions_;  // by recording
  int64_t index_ = 0;
  uint64_t fingerprint_ = 0;
};

/// Returns "supervisions_train.jsonl.gz" for "recordings_train.jsonl.gz" if that file exists.
std::string supervisions_beside(const std::string& recordings) {
  const fs::path path(recordings);
  std::string name = path.filename().string();
  const size_t at = name.find("recordings");
  if (at == std::string::npos) return "";
  name.replace(at, std::string("recordings").size(), "supervisions");
  const fs::path beside = path.parent_path() / name;
  return fs::exists(beside) ? beside.string() : "";
}

std::string recording_of(const std::string& line, const data::LineLocation& place,
                         const char* key) {
  return data::JsonFields(data::parse_json_line(line, place), place).text(key);
}

LhotseSets::LhotseSets(const std::string& recordings, const ImportOptions& options)
    : recordings_path_(recordings),
      supervisions_path_(options.supervisions.empty() ? supervisions_beside(recordings)
                                                      : options.supervisions),
      options_(options),
      fingerprint_(fingerprint_of({recordings, supervisions_path_}, options)) {
  rewind();
}

void LhotseSets::rewind() {
  recordings_.emplace(recordings_path_);
  supervisions_.clear();
  if (!supervisions_path_.empty()) read_supervisions();
  index_ = 0;
}

void LhotseSets::read_supervisions() {
  data::LineReader reader(supervisions_path_);
  for (std::string text; reader.next(text);) {
    if (text.find_first_not_of(" \t") == std::string::npos) continue;
    const data::LineLocation place{supervisions_path_, reader.line()};
    supervisions_[recording_of(text, place, "recording_id")].push_back({text, reader.line()});
  }
}

std::optional<Piece> LhotseSets::next() {
  Line line;
  do {
    if (!recordings_->next(line.text)) {
      if (supervisions_.empty()) return std::nullopt;
      // Reports supervisions whose recording was not found.
      const auto left = supervisions_.begin();
      const Error error = convert_errors::no_recording(
          supervisions_path_ + ":" + std::to_string(left->second.front().number), left->first,
          recordings_path_);
      supervisions_.erase(left);
      throw error;
    }
  } while (line.text.find_first_not_of(" \t") == std::string::npos);
  line.number = recordings_->line();
  const int64_t index = index_++;
  const data::LineLocation place{recordings_path_, line.number};
  const std::string id = recording_of(line.text, place, "id");
  std::vector<Line> turns;
  if (auto node = supervisions_.extract(id)) turns = std::move(node.mapped());
  files::SourceState state;
  state.add(line.text);
  for (const Line& turn : turns) state.add(turn.text);
  const auto made_of = [value = state.value()] { return value; };
  return Piece{place.text(),
               [this, line = std::move(line), turns = std::move(turns), index] {
                 Cut cut = make(line, index);
                 cut.supervisions = supervisions(turns);
                 if (cut.kind == Cut::Kind::kMulti) make_duplex(cut);
                 return std::vector<Cut>{std::move(cut)};
               },
               made_of};
}

std::vector<Supervision> LhotseSets::supervisions(const std::vector<Line>& lines) const {
  std::vector<Supervision> turns;
  for (const Line& line : lines) {
    const data::LineLocation place{supervisions_path_, line.number};
    data::Leniencies ignored;
    turns.push_back(data::parse_supervision(
        data::JsonFields(data::parse_json_line(line.text, place), place), ignored));
    if (!options_.language.empty() && !turns.back().language) {
      turns.back().language = options_.language;
    }
  }
  return turns;
}

/// Source: lhotse cut/set.py create_cut_set_eager (id, channels, the whole recording).
Cut LhotseSets::make(const Line& line, int64_t index) const {
  const data::LineLocation place{recordings_path_, line.number};
  data::Leniencies ignored;
  Cut cut;
  cut.manifest = recordings_path_;
  cut.recording = data::parse_recording(
      data::JsonFields(data::parse_json_line(line.text, place), place), ignored);
  cut.id = cut.recording->id + "-" + std::to_string(index);
  cut.duration_s = cut.recording->duration_s;
  cut.channels = cut.recording->all_channels();
  if (cut.channels.size() != 1) cut.kind = Cut::Kind::kMulti;
  resolve_paths(cut);
  return cut;
}

/// The cut has the user's channel, and `target_audio` has the agent's.
void LhotseSets::make_duplex(Cut& cut) const {
  for (const int64_t channel : {options_.user_channel, options_.agent_channel}) {
    if (std::find(cut.channels.begin(), cut.channels.end(), channel) == cut.channels.end()) {
      throw convert_errors::channels(cut.recording->id, static_cast<int64_t>(cut.channels.size()),
                                     channel);
    }
  }
  cut.kind = Cut::Kind::kMono;
  cut.channels = {options_.user_channel};
  cut.set_custom("target_audio", *cut.recording);
  cut.set_custom("target_audio_channel_selector",
                 JsonText{"[" + std::to_string(options_.agent_channel) + "]"});
  std::erase_if(cut.supervisions, [&](const Supervision& turn) {
    return turn.channels != std::vector<int64_t>{options_.user_channel} &&
           turn.channels != std::vector<int64_t>{options_.agent_channel};
  });
  for (Supervision& turn : cut.supervisions) {
    const bool is_agent = turn.channels.front() == options_.agent_channel;
    if (!turn.speaker.empty()) set_speaker_id(turn.speaker, turn);
    turn.speaker = is_agent ? "agent" : "user";
    turn.channels = cut.channels;
  }
  sort_by_start(cut.supervisions);
}

}  // namespace

std::unique_ptr<Importer> import_lhotse(const std::string& recordings,
                                        const ImportOptions& options) {
  return std::make_unique<LhotseSets>(recordings, options);
}

}  // namespace s2s::convert
