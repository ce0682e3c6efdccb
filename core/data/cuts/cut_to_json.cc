// Writes cuts, recordings and supervisions as JSON, with the fields in Lhotse's order.

#include <string_view>

#include "cuts/cut_files.h"
#include "cuts/cuts_errors.h"
#include "files/json_text.h"

namespace s2s {
namespace {

using data::append_json_number;
using data::append_json_string;
using data::JsonObjectText;

void append(std::string& out, const Cut& cut);

template <typename Items, typename Append>
void append_list(std::string& out, const Items& items, const Append& append_item) {
  out += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ',';
    first = false;
    append_item(item);
  }
  out += ']';
}

void append_transforms(JsonObjectText& object, const std::vector<AudioTransform>& transforms) {
  if (transforms.empty()) return;
  std::string& out = object.value("transforms");
  append_list(out, transforms, [&](const AudioTransform& transform) {
    JsonObjectText item(out);
    item.text("name", transform.name);
    item.raw("kwargs", transform.kwargs.text);
    item.end();
  });
}

constexpr std::string_view kSourceTypes[] = {"file",   "command", "url",
                                             "memory", "shar",    "shar_ptr"};

void append(std::string& out, const AudioSource& source) {
  JsonObjectText object(out);
  object.text("type", kSourceTypes[static_cast<size_t>(source.type)]);
  object.integers("channels", source.channels);
  const bool pointer = source.type == AudioSource::Type::kSharPointer;
  object.text("source", pointer ? source.source + "?o=" + std::to_string(source.begin) +
                                      "&e=" + std::to_string(source.end)
                                : source.source);
  if (source.video) object.raw("video", source.video->text);
  object.end();
}

void append(std::string& out, const Recording& recording) {
  JsonObjectText object(out);
  object.text("id", recording.id);
  append_list(object.value("sources"), recording.sources,
              [&](const AudioSource& source) { append(out, source); });
  object.integer("sampling_rate", recording.sample_rate_hz);
  object.integer("num_samples", recording.num_samples);
  object.number("duration", recording.duration_s);
  object.integers("channel_ids", recording.all_channels());
  append_transforms(object, recording.transforms);
  object.end();
}

void append_custom(JsonObjectText& owner, const CustomFields& custom) {
  if (custom.empty()) return;
  std::string& out = owner.value("custom");
  JsonObjectText object(out);
  for (const auto& [name, value] : custom) {
    if (const auto* json = std::get_if<JsonText>(&value)) object.raw(name, json->text);
    if (const auto* array = std::get_if<StoredArray>(&value))
      object.raw(name, array->manifest.text);
    if (const auto* recording = std::get_if<Recording>(&value)) {
      append(object.value(name), *recording);
    }
  }
  object.end();
}

void append(std::string& out, const AlignedWord& word) {
  out += '[';
  append_json_string(out, word.text);
  out += ',';
  append_json_number(out, word.start_s);
  out += ',';
  append_json_number(out, word.duration_s);
  out += ',';
  if (word.score) {
    append_json_number(out, *word.score);
  } else {
    out += "null";
  }
  out += ']';
}

void append(std::string& out, const Supervision& turn) {
  JsonObjectText object(out);
  object.text("id", turn.id);
  object.text("recording_id", turn.recording_id);
  object.number("start", turn.start_s);
  object.number("duration", turn.duration_s);
  if (turn.channel_is_list || turn.channels.size() != 1) {
    object.integers("channel", turn.channels);
  } else {
    object.integer("channel", turn.channels.front());
  }
  if (turn.text) object.text("text", *turn.text);
  if (turn.language) object.text("language", *turn.language);
  if (!turn.speaker.empty()) object.text("speaker", turn.speaker);
  if (turn.gender) object.text("gender", *turn.gender);
  append_custom(object, turn.custom);
  if (!turn.alignment.empty()) {
    JsonObjectText kinds(object.value("alignment"));
    for (const auto& [kind, words] : turn.alignment) {
      append_list(kinds.value(kind), words, [&](const AlignedWord& word) { append(out, word); });
    }
    kinds.end();
  }
  object.end();
}

void append_data_cut(JsonObjectText& object, std::string& out, const Cut& cut) {
  object.number("start", cut.start_s);
  object.number("duration", cut.duration_s);
  const bool one = cut.kind == Cut::Kind::kMono && cut.channels.size() == 1;
  if (one) {
    object.integer("channel", cut.channels.front());
  } else {
    object.integers("channel", cut.channels);
  }
  append_list(object.value("supervisions"), cut.supervisions,
              [&](const Supervision& turn) { append(out, turn); });
  if (cut.features) object.raw("features", cut.features->manifest.text);
  if (cut.recording) append(object.value("recording"), *cut.recording);
  append_custom(object, cut.custom);
}

void append_padding(JsonObjectText& object, const Cut& cut) {
  const Cut::Padding padding = cut.padding.value_or(Cut::Padding{});
  object.number("duration", cut.duration_s);
  object.integer("sampling_rate", padding.sample_rate_hz);
  object.number("feat_value", padding.feat_value);
  if (padding.num_frames) object.integer("num_frames", *padding.num_frames);
  if (padding.num_features) object.integer("num_features", *padding.num_features);
  if (padding.frame_shift) object.number("frame_shift", *padding.frame_shift);
  if (padding.num_samples) object.integer("num_samples", *padding.num_samples);
  if (padding.video) object.raw("video", padding.video->text);
  append_custom(object, cut.custom);
}

std::string_view type_of(const Cut& cut) {
  constexpr std::string_view kNames[] = {"MonoCut", "MultiCut", "PaddingCut", "MixedCut"};
  return kNames[static_cast<size_t>(cut.kind)];
}

void append(std::string& out, const MixTrack& track) {
  JsonObjectText object(out);
  append(object.value("cut"), *track.cut);
  object.text("type", type_of(*track.cut));
  object.number("offset", track.offset_s);
  if (track.snr_db) object.number("snr", *track.snr_db);
  if (track.tag) object.text("tag", *track.tag);
  if (track.is_snr_reference) object.raw("is_snr_reference", "true");
  if (track.mute) object.raw("mute", "true");
  object.end();
}

void append(std::string& out, const Cut& cut) {
  JsonObjectText object(out);
  object.text("id", cut.id);
  if (cut.kind == Cut::Kind::kMixed) {
    append_list(object.value("tracks"), cut.tracks,
                [&](const MixTrack& track) { append(out, track); });
  } else if (cut.kind == Cut::Kind::kPadding) {
    append_padding(object, cut);
  } else {
    append_data_cut(object, out, cut);
  }
  object.text("type", type_of(cut));
  if (cut.kind == Cut::Kind::kMixed) append_transforms(object, cut.transforms);
  object.end();
}

}  // namespace

std::string to_json(const Cut& cut) {
  std::string out;
  append(out, cut);
  return out;
}

std::string to_json(const Recording& recording) {
  std::string out;
  append(out, recording);
  return out;
}

}  // namespace s2s
