// Parses recordings, supervisions and custom fields.

#include <algorithm>
#include <array>
#include <utility>

#include "cuts/cut_json.h"
#include "cuts/cuts_errors.h"

namespace s2s::data {
namespace {

using Type = AudioSource::Type;

constexpr std::array<std::pair<std::string_view, Type>, 6> kSourceTypes = {
    {{"file", Type::kFile},
     {"command", Type::kCommand},
     {"url", Type::kUrl},
     {"memory", Type::kMemory},
     {"shar", Type::kShar},
     {"shar_ptr", Type::kSharPointer}}};

std::optional<int64_t> digits(std::string_view text) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  int64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = 10 * number + (c - '0');
  }
  return number;
}

/// Splits "TAR?o=BEGIN&e=END".
void split_pointer(const JsonFields& fields, AudioSource& source) {
  const std::string& text = source.source;
  const size_t begin = text.rfind("?o=");
  const size_t end = begin == std::string::npos ? begin : text.find("&e=", begin);
  const auto from = end == std::string::npos
                        ? std::nullopt
                        : digits(std::string_view(text).substr(begin + 3, end - begin - 3));
  const auto to =
      end == std::string::npos ? std::nullopt : digits(std::string_view(text).substr(end + 3));
  if (!from || !to || *to < *from) {
    fields.fail("source", *fields.find("source"), "TAR?o=BEGIN&e=END");
  }
  source.begin = *from;
  source.end = *to;
  source.source.resize(begin);
}

AudioSource parse_source(const JsonFields& fields) {
  AudioSource source;
  const std::string type = fields.text("type");
  const auto* known = std::find_if(kSourceTypes.begin(), kSourceTypes.end(),
                                   [&](const auto& entry) { return entry.first == type; });
  if (known == kSourceTypes.end()) throw cuts_errors::source_type(fields.place(), type);
  source.type = known->second;
  source.channels = fields.integers("channels");
  if (source.channels.empty()) source.channels = {0};
  source.source = fields.text("source");
  if (source.type == Type::kSharPointer) split_pointer(fields, source);
  if (const auto video = fields.find("video")) source.video = JsonText{json_text(*video)};
  return source;
}

/// [symbol, start, duration, score?]. Before lhotse 1.8 it was an object with these members in
/// order.
struct WordItem {
  std::array<JsonValue, 4> values;
  size_t size = 0;

  explicit WordItem(JsonValue item) {
    simdjson::dom::object members;
    if (simdjson::dom::array array; item.get(array) == simdjson::SUCCESS) {
      for (const JsonValue value : array) add(value);
    } else if (item.get(members) == simdjson::SUCCESS) {
      for (const auto& member : members) add(member.value);
    }
  }
  void add(JsonValue value) {
    if (size < values.size()) values[size] = value;
    ++size;
  }
};

std::vector<AlignedWord> parse_words(JsonValue list, const JsonFields& kinds,
                                     std::string_view kind) {
  std::vector<AlignedWord> words;
  constexpr const char* kExpected = "items of [symbol, start, duration]";
  simdjson::dom::array items;
  if (list.get(items) != simdjson::SUCCESS) kinds.fail(kind, list, kExpected);
  words.reserve(items.size());
  for (const JsonValue value : items) {
    const WordItem item(value);
    std::string_view text;
    const bool named =
        item.size >= 3 && item.size <= 4 && item.values[0].get(text) == simdjson::SUCCESS;
    const auto start = named ? json_number(item.values[1]) : std::nullopt;
    const auto duration = named ? json_number(item.values[2]) : std::nullopt;
    if (!start || !duration) kinds.fail(kind, value, kExpected);
    words.push_back({std::string(text), *start, *duration});
    if (item.size == 4) words.back().score = json_number(item.values[3]);
  }
  return words;
}

bool is_array_manifest(simdjson::dom::object object) {
  const auto has = [&](const char* key) { return object[key].error() == simdjson::SUCCESS; };
  return has("width") || (has("shape") && has("storage_type")) ||
         (has("array") && has("temporal_dim") && has("frame_shift"));
}

bool is_recording_manifest(simdjson::dom::object object) {
  const auto has = [&](const char* key) { return object[key].error() == simdjson::SUCCESS; };
  return has("id") && (has("sources") || has("path")) && has("sampling_rate");
}

}  // namespace

std::vector<AudioTransform> parse_transforms(const JsonFields& owner) {
  std::vector<AudioTransform> transforms;
  for (const JsonValue item : owner.list("transforms")) {
    const JsonFields fields(item, owner, "transforms[]");
    AudioTransform& transform = transforms.emplace_back();
    transform.name = fields.text("name");
    if (const auto kwargs = fields.find("kwargs")) transform.kwargs = {json_text(*kwargs)};
  }
  return transforms;
}

Recording parse_recording(const JsonFields& fields, Leniencies& leniencies) {
  Recording recording;
  recording.id = fields.maybe_text("id").value_or("");
  recording.sample_rate_hz = fields.integer("sampling_rate");
  if (recording.sample_rate_hz <= 0) {
    throw cuts_errors::manifest_sample_rate(fields.place(), recording.id, recording.sample_rate_hz);
  }
  for (const JsonValue source : fields.list("sources")) {
    recording.sources.push_back(parse_source(JsonFields(source, fields, "sources[]")));
  }
  if (recording.sources.empty()) {
    recording.sources.push_back({Type::kFile, {0}, fields.text("path")});
    ++leniencies.recordings_with_path;
  }
  const auto rate = static_cast<double>(recording.sample_rate_hz);
  const std::optional<double> duration = fields.maybe_number("duration");
  recording.num_samples = duration && !fields.find("num_samples")
                              ? static_cast<int64_t>(*duration * rate + 0.5)
                              : fields.integer("num_samples");
  recording.duration_s = duration.value_or(static_cast<double>(recording.num_samples) / rate);
  recording.channel_ids = fields.integers("channel_ids");
  recording.transforms = parse_transforms(fields);
  return recording;
}

Supervision parse_supervision(const JsonFields& fields, Leniencies& leniencies) {
  Supervision turn;
  turn.id = fields.maybe_text("id").value_or("");
  turn.recording_id = fields.maybe_text("recording_id").value_or("");
  turn.start_s = fields.number("start");
  turn.duration_s = fields.number("duration");
  if (const auto channel = fields.find("channel")) {
    turn.channels = fields.integers("channel");
    turn.channel_is_list = channel->is_array();
  }
  if (turn.duration_s < 0) {
    throw cuts_errors::turn_time(fields.place(), turn, "it ends before it begins");
  }
  turn.text = fields.maybe_text("text");
  turn.language = fields.maybe_text("language");
  turn.speaker = fields.maybe_text("speaker").value_or("");
  turn.gender = fields.maybe_text("gender");
  turn.custom = parse_custom(fields, leniencies);
  if (const auto alignment = fields.find("alignment")) {
    const JsonFields kinds(*alignment, fields, "alignment");
    for (const auto& [kind, list] : fields.members("alignment")) {
      turn.alignment.emplace_back(kind, parse_words(list, kinds, kind));
    }
  }
  return turn;
}

CustomFields parse_custom(const JsonFields& owner, Leniencies& leniencies) {
  CustomFields custom;
  for (const auto& [name, value] : owner.members("custom")) {
    simdjson::dom::object object;
    const bool is_object = value.get(object) == simdjson::SUCCESS;
    if (is_object && is_recording_manifest(object)) {
      const JsonFields parent(*owner.find("custom"), owner, "custom");
      custom.emplace_back(name, parse_recording(JsonFields(value, parent, name), leniencies));
    } else if (is_object && is_array_manifest(object)) {
      custom.emplace_back(name, StoredArray{{json_text(value)}});
    } else {
      custom.emplace_back(name, JsonText{json_text(value)});
    }
  }
  return custom;
}

}  // namespace s2s::data
