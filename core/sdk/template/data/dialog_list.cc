#include "dialog_list.h"

#include <charconv>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "s2s/data/frames.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"

namespace PLUGIN_NAME {
namespace {

constexpr const char* kDialog = "dialog, ID, USER_AUDIO, AGENT_AUDIO, SECONDS";
constexpr const char* kTurn = "turn, SPEAKER, START, END, TEXT";

struct Line {
  std::string place;  // "list.txt:12"
  std::vector<std::string> fields;
};

s2s::Error bad_list(const std::string& path, const std::string& problem) {
  return {s2s::ExitCode::kData, "PLUGIN_NAME/list",
          path + ": " + problem + "; expected a text file of dialogues; correct the option 'path'"};
}

s2s::Error bad_line(const Line& line, const std::string& problem, const std::string& expected) {
  return {s2s::ExitCode::kData, "PLUGIN_NAME/line",
          line.place + ": " + s2s::printable_name(problem) + "; expected " + expected +
              ", separated by tabs; correct the line"};
}

Line split(std::string place, const std::string& text) {
  Line line{std::move(place), {}};
  std::istringstream in(text);
  for (std::string field; std::getline(in, field, '\t');) line.fields.push_back(field);
  return line;
}

double seconds(const Line& line, size_t field, const char* expected) {
  const std::string& text = line.fields[field];
  const char* const end = text.data() + text.size();
  double value = 0;
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  const bool is_time = error == std::errc() && stopped == end && value >= 0 && value < 1e6;
  if (!is_time) throw bad_line(line, "'" + text + "' is not a time in seconds", expected);
  return value;
}

s2s::Recording recording_of(const std::string& id, const std::string& file, double duration_s,
                            int64_t sample_rate_hz) {
  s2s::Recording recording;
  recording.id = id;
  recording.sources = {{s2s::AudioSource::Type::kFile, {0}, file}};
  recording.sample_rate_hz = sample_rate_hz;
  recording.num_samples = s2s::compute_num_samples(duration_s, sample_rate_hz);
  recording.duration_s = duration_s;
  return recording;
}

s2s::Cut dialog_of(const Line& line, const std::filesystem::path& folder, int64_t sample_rate_hz) {
  s2s::Cut cut;
  cut.id = line.fields[1];
  cut.duration_s = seconds(line, 4, kDialog);
  if (cut.duration_s == 0) throw bad_line(line, "a dialogue of 0 s", kDialog);
  const auto file = [&](size_t field) { return (folder / line.fields[field]).string(); };
  cut.recording = recording_of(cut.id + "-user", file(2), cut.duration_s, sample_rate_hz);
  cut.set_custom("target_audio",
                 recording_of(cut.id + "-agent", file(3), cut.duration_s, sample_rate_hz));
  return cut;
}

s2s::Supervision turn_of(const Line& line, const s2s::Cut& cut) {
  s2s::Supervision turn;
  turn.id = cut.id + "-" + std::to_string(cut.supervisions.size());
  turn.recording_id = cut.recording->id;
  turn.speaker = line.fields[1];
  turn.start_s = seconds(line, 2, kTurn);
  turn.duration_s = seconds(line, 3, kTurn) - turn.start_s;
  if (turn.duration_s <= 0) throw bad_line(line, "the turn ends before it begins", kTurn);
  turn.text = line.fields[4];
  return turn;
}

std::string content_of(const std::string& path) {
  try {
    return s2s::read_small_file(path);
  } catch (const std::system_error& error) {
    throw bad_list(path, error.code().message());
  }
}

}  // namespace

std::vector<s2s::Cut> read_dialogs(const std::string& path, int64_t sample_rate_hz) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::istringstream in(content_of(path));
  std::vector<s2s::Cut> cuts;
  int64_t number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    if (text.empty() || text.front() == '#') continue;
    const Line line = split(path + ":" + std::to_string(number), text);
    const std::string& kind = line.fields.front();
    if (kind == "dialog" && line.fields.size() == 5) {
      cuts.push_back(dialog_of(line, folder, sample_rate_hz));
      cuts.back().manifest = path;
      cuts.back().line = number;
    } else if (kind == "turn" && line.fields.size() == 5 && !cuts.empty()) {
      cuts.back().supervisions.push_back(turn_of(line, cuts.back()));
    } else {
      const std::string what = "'" + kind + "' with " + std::to_string(line.fields.size()) +
                               " fields" + (cuts.empty() ? " before the first dialogue" : "");
      throw bad_line(line, what, std::string(kDialog) + " or " + kTurn);
    }
  }
  if (cuts.empty()) throw bad_list(path, "contains no dialogue");
  return cuts;
}

}  // namespace PLUGIN_NAME
