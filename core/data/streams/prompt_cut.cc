#include "streams/prompt_cut.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/foreign_json.h"
#include "cuts/mixed_cut.h"
#include "s2s/data/frames.h"
#include "streams/stream_errors.h"

namespace s2s::data {
namespace {

using nlohmann::json;

constexpr const char* kField = "s2s_conversation";
constexpr double kNoAudio_s = 0.001;
constexpr int64_t kNoAudioRate_hz = 16000;

/// Replaces the audio of a conversation without audio by a short silence, which is never loaded.
void make_silent(Cut& cut) {
  cut.kind = Cut::Kind::kPadding;
  cut.duration_s = kNoAudio_s;
  cut.padding = Cut::Padding{};
  cut.padding->sample_rate_hz = kNoAudioRate_hz;
  cut.padding->num_samples = compute_num_samples(kNoAudio_s, kNoAudioRate_hz);
}

}  // namespace

Cut prompt_cut(const Conversation& conversation) {
  if (conversation.turns.empty()) {
    throw stream_errors::conversation(conversation.place, "no turns", "at least one turn");
  }
  json turns = json::array();
  Cut cut;
  cut.kind = Cut::Kind::kMixed;
  cut.id = conversation.id;
  cut.manifest = conversation.file;
  cut.line = conversation.line;
  double now_s = 0;
  const auto add_track = [&](std::shared_ptr<const Cut> audio) {
    MixTrack track;
    track.offset_s = now_s;
    now_s = round_time(now_s + audio->duration_s);
    track.cut = std::move(audio);
    cut.tracks.push_back(std::move(track));
  };
  for (const ConversationTurn& turn : conversation.turns) {
    json entry = {{"role", turn.role}};
    if (turn.is_audio) {
      entry["audio"] = cut.tracks.size();
      add_track(std::make_shared<const Cut>(*turn.cut));
    } else {
      entry["text"] = turn.value;
    }
    turns.push_back(std::move(entry));
  }
  const auto add_fields = [&](CustomFields custom) {
    for (const auto& [name, value] : conversation.custom) custom.emplace_back(name, value);
    custom.emplace_back(kField, JsonText{turns.dump()});
    return custom;
  };
  if (cut.tracks.empty()) {
    make_silent(cut);
    cut.custom = add_fields({});
    return cut;
  }
  /// A mixed cut's fields are in its tracks.
  auto first = std::make_shared<Cut>(*cut.tracks.front().cut);
  first->custom = add_fields(std::move(first->custom));
  cut.tracks.front().cut = std::move(first);
  update_mixed(cut);
  return cut;
}

std::vector<SpokenOrWritten> turns_of_prompt_cut(const Cut& cut) {
  std::vector<SpokenOrWritten> turns;
  const CustomValue* const value = cut.find_custom(kField);
  const auto* const text = value == nullptr ? nullptr : std::get_if<JsonText>(value);
  if (text == nullptr) return turns;
  const json parsed = try_parse_foreign_json(text->text);
  if (!parsed.is_array()) return turns;
  for (const json& entry : parsed) {
    // Only prompt_cut writes this field, so any other content means an ordinary cut.
    if (!entry.is_object() || !entry.contains("role")) return {};
    SpokenOrWritten turn{entry.value("role", ""), entry.value("text", ""), nullptr};
    const size_t track = entry.value("audio", cut.tracks.size());
    if (track < cut.tracks.size()) turn.audio = cut.tracks[track].cut;
    turns.push_back(std::move(turn));
  }
  return turns;
}

}  // namespace s2s::data
