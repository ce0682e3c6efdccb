#include "cuts/cut_json.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "cuts/cut_files.h"
#include "cuts/cuts_errors.h"
#include "cuts/mixed_cut.h"
#include "files/files_errors.h"

namespace s2s::data {
namespace {

/// Guesses what a line is that is not a cut. lhotse distinguishes its manifests by the same keys.
std::string looks_like(const JsonFields& line) {
  if (line.find("audio_filepath")) return "a NeMo manifest line";
  if (line.find("sources")) return "a recording";
  if (line.find("num_features")) return "a features entry";
  if (line.find("start") && line.find("recording_id")) return "a supervision";
  return "something else";
}

const char* type_name(JsonValue value) {
  switch (value.type()) {
    case simdjson::dom::element_type::ARRAY:
      return "array";
    case simdjson::dom::element_type::STRING:
      return "string";
    case simdjson::dom::element_type::BOOL:
      return "boolean";
    case simdjson::dom::element_type::NULL_VALUE:
      return "null";
    default:
      return "number";
  }
}

Cut::Kind kind_of(const JsonFields& line, Leniencies& leniencies) {
  const std::optional<JsonValue> type = line.find("type");
  std::string_view name;
  if (type && type->get(name) == simdjson::SUCCESS) {
    if (name == "MonoCut" || name == "Cut") return Cut::Kind::kMono;
    if (name == "MultiCut") return Cut::Kind::kMulti;
    if (name == "PaddingCut") return Cut::Kind::kPadding;
    if (name == "MixedCut") return Cut::Kind::kMixed;
    if (line.find("tracks") || line.find("supervisions")) {
      throw cuts_errors::cut_type(line.place(), std::string(name));
    }
  }
  if (!line.find("supervisions") || !line.find("duration")) {
    throw cuts_errors::not_a_cut(line.place(), looks_like(line));
  }
  ++leniencies.cuts_without_type;
  return Cut::Kind::kMono;
}

void parse_data_cut(const JsonFields& fields, Leniencies& leniencies, Cut& cut) {
  cut.start_s = fields.maybe_number("start").value_or(0);
  cut.channels = fields.integers("channel");
  if (cut.channels.empty()) cut.channels = {0};
  for (const JsonValue turn : fields.list("supervisions")) {
    cut.supervisions.push_back(
        parse_supervision(JsonFields(turn, fields, "supervisions[]"), leniencies));
  }
  if (const auto recording = fields.find("recording")) {
    cut.recording = parse_recording(JsonFields(*recording, fields, "recording"), leniencies);
  }
  if (const auto features = fields.find("features")) {
    cut.features = StoredArray{{json_text(*features)}};
  }
}

void parse_padding(const JsonFields& fields, Cut& cut) {
  Cut::Padding& padding = cut.padding.emplace();
  padding.sample_rate_hz = fields.integer("sampling_rate");
  padding.feat_value = fields.number("feat_value");
  padding.num_frames = fields.maybe_integer("num_frames");
  padding.num_features = fields.maybe_integer("num_features");
  padding.frame_shift = fields.maybe_number("frame_shift");
  padding.num_samples = fields.maybe_integer("num_samples");
  if (const auto video = fields.find("video")) padding.video = JsonText{json_text(*video)};
}

Cut parse_fields(const JsonFields& fields, Cut::Kind kind, Leniencies& leniencies);

/// The track's `type` is the kind of its cut. In older files only the cut has the type.
MixTrack parse_track(const JsonFields& fields, const Cut& mix, Leniencies& leniencies) {
  MixTrack track;
  const auto cut = fields.find("cut");
  if (!cut) throw files_errors::field(fields.place(), fields.full_name("cut"), "missing", "a cut");
  const JsonFields cut_fields(*cut, fields, "cut");
  const Cut::Kind kind = kind_of(fields.find("type") ? fields : cut_fields, leniencies);
  Cut parsed = parse_fields(cut_fields, kind, leniencies);
  parsed.manifest = mix.manifest;
  parsed.line = mix.line;
  track.cut = std::make_shared<const Cut>(std::move(parsed));
  track.offset_s = fields.maybe_number("offset").value_or(0);
  track.snr_db = fields.maybe_number("snr");
  track.tag = fields.maybe_text("tag");
  track.is_snr_reference = fields.maybe_flag("is_snr_reference").value_or(false);
  track.mute = fields.maybe_flag("mute").value_or(false);
  return track;
}

void parse_mix(const JsonFields& fields, Leniencies& leniencies, Cut& cut) {
  for (const JsonValue track : fields.list("tracks")) {
    cut.tracks.push_back(parse_track(JsonFields(track, fields, "tracks[]"), cut, leniencies));
  }
  if (const auto reference = fields.find("snr_reference")) {
    cut.tracks.push_back(
        parse_track(JsonFields(*reference, fields, "snr_reference"), cut, leniencies));
    cut.tracks.back().is_snr_reference = cut.tracks.back().mute = true;
  }
  if (cut.tracks.empty()) {
    const auto tracks = fields.find("tracks");
    throw files_errors::field(fields.place(), "tracks", tracks ? "array []" : "missing",
                              "a list of tracks");
  }
  cut.transforms = parse_transforms(fields);
  update_mixed(cut);
}

Cut parse_fields(const JsonFields& fields, Cut::Kind kind, Leniencies& leniencies) {
  Cut cut;
  cut.kind = kind;
  cut.manifest = std::string(fields.location().file);
  cut.line = fields.location().line;
  cut.id = fields.text("id");
  if (kind == Cut::Kind::kMixed) {
    parse_mix(fields, leniencies, cut);
    return cut;
  }
  cut.duration_s = fields.number("duration");
  if (!(cut.duration_s > 0)) throw cuts_errors::duration(fields.place(), cut.duration_s);
  if (kind == Cut::Kind::kPadding) {
    parse_padding(fields, cut);
  } else {
    parse_data_cut(fields, leniencies, cut);
  }
  cut.custom = parse_custom(fields, leniencies);
  return cut;
}

}  // namespace

std::vector<std::string> Leniencies::warnings(const std::string& path) const {
  std::vector<std::string> all;
  if (recordings_with_path > 0) {
    all.push_back(
        fmt::format("{}: {} recordings have 'path' in place of 'sources'; read as one mono file, "
                    "but lhotse refuses them",
                    path, recordings_with_path));
  }
  if (cuts_without_type > 0) {
    all.push_back(
        fmt::format("{}: {} cuts have no 'type'; read as MonoCut, but lhotse refuses them", path,
                    cuts_without_type));
  }
  return all;
}

Cut parse_cut(const std::string& line_text, const std::string& manifest, int64_t line,
              Leniencies& leniencies) {
  LineLocation place{manifest, line};
  const JsonValue value = parse_json_line(line_text, place);
  if (!value.is_object()) {
    throw cuts_errors::not_a_cut(place.text(), std::string("JSON of type ") + type_name(value));
  }
  const JsonFields fields(value, place);
  const Cut::Kind kind = kind_of(fields, leniencies);
  place.detail = "cut '" + fields.text("id") + "'";
  return parse_fields(fields, kind, leniencies);
}

}  // namespace s2s::data

namespace s2s {

Cut parse_cut(const std::string& line_text, const std::string& manifest, int64_t line) {
  data::Leniencies ignored;
  return data::parse_cut(line_text, manifest, line, ignored);
}

}  // namespace s2s
