#include "data/cut_json.h"

#include <filesystem>
#include <utility>

#include "data/data_errors.h"
#include "data/json_fields.h"

namespace s2s::data {
namespace {

using nlohmann::json;

json parse_line(const std::string& text, const std::string& place) {
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    std::string reason = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 9: syntax error ..."
    const size_t column = reason.find("column ");
    if (column != std::string::npos) reason = reason.substr(column);
    throw data_errors::json(place, reason);
  }
}

/// What a line is that is no cut; lhotse tells its manifests apart by the same keys.
std::string looks_like(const json& line) {
  if (!line.is_object()) return std::string("JSON of type ") + line.type_name();
  if (line.contains("audio_filepath")) return "a NeMo manifest line";
  if (line.contains("sources")) return "a recording";
  if (line.contains("num_features")) return "a features entry";
  if (line.contains("start") && line.contains("recording_id")) return "a supervision";
  return "";
}

void check_type(const json& line, const std::string& place, Leniencies& leniencies) {
  const bool cut_shaped =
      line.is_object() && line.contains("supervisions") && line.contains("duration");
  const auto type = line.is_object() ? line.find("type") : line.end();
  if (line.is_object() && type != line.end() && type->is_string()) {
    const std::string name = type->get<std::string>();
    if (name == "MonoCut" || name == "Cut") return;
    throw data_errors::cut_type(place, name);
  }
  const std::string kind = looks_like(line);
  if (!kind.empty()) throw data_errors::not_a_cut(place, kind);
  if (!cut_shaped) throw data_errors::not_a_cut(place, "something else");
  ++leniencies.cuts_without_type;
}

std::string resolve_path(const std::string& path, const std::string& manifest) {
  namespace fs = std::filesystem;
  const fs::path given(path);
  if (given.is_absolute()) return path;
  const fs::path beside = fs::path(manifest).parent_path() / given;
  std::error_code ignored;
  if (!fs::exists(beside, ignored) && fs::exists(given, ignored)) return path;
  return beside.lexically_normal().string();
}

AudioFile parse_source(const JsonFields& fields, const std::string& manifest) {
  const std::string type = fields.text("type");
  if (type != "file") throw data_errors::source_type(fields.place(), type);
  AudioFile file{resolve_path(fields.text("source"), manifest), fields.integers("channels")};
  if (file.channels.empty()) file.channels = {0};
  return file;
}

Recording parse_recording(const JsonFields& fields, const std::string& manifest,
                          Leniencies& leniencies) {
  Recording recording;
  recording.id = fields.maybe_text("id").value_or("");
  recording.sample_rate_hz = fields.integer("sampling_rate");
  if (recording.sample_rate_hz <= 0) {
    throw data_errors::manifest_sample_rate(fields.place(), recording.id, recording.sample_rate_hz);
  }
  if (!fields.list("transforms").empty()) {
    throw data_errors::transforms(fields.place(), recording.id);
  }
  for (const json& source : fields.list("sources")) {
    recording.files.push_back(
        parse_source(JsonFields(source, fields.place(), fields.full_name("sources[].")), manifest));
  }
  if (recording.files.empty()) {
    recording.files.push_back({resolve_path(fields.text("path"), manifest), {0}});
    ++leniencies.recordings_with_path;
  }
  const auto rate = static_cast<double>(recording.sample_rate_hz);
  const std::optional<double> duration = fields.maybe_number("duration");
  recording.num_samples = duration && fields.find("num_samples") == nullptr
                              ? static_cast<int64_t>(*duration * rate + 0.5)
                              : fields.integer("num_samples");
  recording.duration_s = duration.value_or(static_cast<double>(recording.num_samples) / rate);
  return recording;
}

std::vector<AlignedWord> parse_words(const JsonFields& fields) {
  std::vector<AlignedWord> words;
  const json* alignment = fields.find("alignment");
  if (alignment == nullptr) return words;
  const JsonFields kinds(*alignment, fields.place(), fields.full_name("alignment."));
  for (const json& item : kinds.list("word")) {
    const bool good = item.is_array() && item.size() >= 3 && item[0].is_string() &&
                      item[1].is_number() && item[2].is_number();
    if (!good) {
      throw data_errors::field(fields.place(), kinds.full_name("word"), item.dump(),
                               "items of [symbol, start, duration]");
    }
    const double start = item[1].get<double>();
    words.push_back({item[0].get<std::string>(), start, start + item[2].get<double>()});
  }
  return words;
}

Supervision parse_supervision(const JsonFields& fields) {
  Supervision turn;
  turn.id = fields.maybe_text("id").value_or("");
  turn.speaker = fields.maybe_text("speaker").value_or("");
  turn.start_s = fields.number("start");
  turn.duration_s = fields.number("duration");
  turn.text = fields.maybe_text("text");
  turn.words = parse_words(fields);
  // Lhotse's trimming leaves starts of minus some nanoseconds.
  if (turn.start_s < -1e-3) {
    throw data_errors::turn_time(fields.place(), turn, "it begins before the cut");
  }
  if (turn.duration_s < 0) {
    throw data_errors::turn_time(fields.place(), turn, "it ends before it begins");
  }
  return turn;
}

void parse_custom(const JsonFields& custom, const std::string& manifest, Leniencies& leniencies,
                  Cut& cut) {
  if (const json* target = custom.find("target_audio")) {
    const JsonFields fields(*target, custom.place(), "custom.target_audio.");
    cut.target_audio = parse_recording(fields, manifest, leniencies);
  }
  const json* unaligned = custom.find("target_audio_unaligned");
  cut.target_audio_unaligned =
      unaligned != nullptr && unaligned->is_boolean() && unaligned->get<bool>();
  cut.target_audio_channels = custom.integers("target_audio_channel_selector");
}

}  // namespace

Cut parse_cut(const std::string& line_text, const std::string& manifest, int64_t line,
              Leniencies& leniencies) {
  const std::string line_place = manifest + ":" + std::to_string(line);
  const json object = parse_line(line_text, line_place);
  check_type(object, line_place, leniencies);
  Cut cut;
  cut.manifest = manifest;
  cut.line = line;
  cut.id = JsonFields(object, line_place, "").text("id");
  const JsonFields fields(object, cut.place(), "");
  cut.start_s = fields.maybe_number("start").value_or(0);
  cut.duration_s = fields.number("duration");
  if (!(cut.duration_s > 0)) throw data_errors::duration(cut.place(), cut.duration_s);
  cut.channel = fields.maybe_integer("channel").value_or(0);
  for (const json& turn : fields.list("supervisions")) {
    cut.supervisions.push_back(parse_supervision(JsonFields(turn, cut.place(), "supervisions[].")));
  }
  if (const json* recording = fields.find("recording")) {
    cut.recording =
        parse_recording(JsonFields(*recording, cut.place(), "recording."), manifest, leniencies);
  }
  if (const json* custom = fields.find("custom")) {
    parse_custom(JsonFields(*custom, cut.place(), "custom."), manifest, leniencies, cut);
  }
  return cut;
}

}  // namespace s2s::data
