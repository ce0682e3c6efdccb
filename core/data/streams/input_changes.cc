#include "streams/input_changes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "base/foreign_json.h"
#include "base/text.h"
#include "base/whole_number.h"
#include "cuts/cut_operations.h"
#include "cuts/mixed_cut.h"
#include "s2s/data/frames.h"
#include "streams/source_silence.h"
#include "streams/stream_errors.h"

namespace s2s::data {
namespace {

using nlohmann::json;

JsonText quoted(const std::string& text) { return {json(text).dump()}; }

bool contains_lower(const std::vector<std::string>& names, const std::string& name) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& known) { return lower(known) == name; });
}

Supervision turn_of(const std::string& id, const std::string& recording_id, double start_s,
                    double duration_s) {
  Supervision turn;
  turn.id = id;
  turn.recording_id = recording_id;
  turn.start_s = start_s;
  turn.duration_s = duration_s;
  return turn;
}

constexpr const char* kSilence = "_silence";

/// Appends silence to `cut`.
Cut followed_by_silence(Cut cut, int64_t num_samples) {
  const int64_t rate = cut.sample_rate_hz();
  const int64_t own = compute_num_samples(cut.duration_s, rate);
  auto silence = std::make_shared<Cut>();
  silence->kind = Cut::Kind::kPadding;
  silence->id = cut.id + kSilence;
  silence->duration_s = static_cast<double>(num_samples) / static_cast<double>(rate);
  silence->padding = Cut::Padding{};
  silence->padding->sample_rate_hz = rate;
  silence->padding->num_samples = num_samples;
  Cut mix;
  mix.kind = Cut::Kind::kMixed;
  mix.id = cut.id;
  mix.manifest = cut.manifest;
  mix.line = cut.line;
  MixTrack track;
  track.cut = std::move(silence);
  track.offset_s = static_cast<double>(own) / static_cast<double>(rate);
  MixTrack first;
  first.cut = std::make_shared<const Cut>(std::move(cut));
  mix.tracks = {std::move(first), std::move(track)};
  update_mixed(mix);
  return mix;
}

std::vector<Supervision> turns_of_segments(const Cut& cut, const std::string& field,
                                           const std::string& speaker, double move_back_s) {
  const CustomValue* value = cut.find_custom(field);
  const auto* text = value == nullptr ? nullptr : std::get_if<JsonText>(value);
  if (text == nullptr) throw stream_errors::no_segments(cut, field, "is missing");
  const json segments = try_parse_foreign_json(text->text);
  if (!segments.is_array()) throw stream_errors::no_segments(cut, field, "is no list");
  std::vector<Supervision> turns;
  for (const json& segment : segments) {
    try {
      const double start = segment.at("start").get<double>();
      const double end = segment.at("end").get<double>();
      Supervision turn = turn_of(cut.id, cut.id, start - move_back_s, end - start + move_back_s);
      turn.text = segment.at("text").get<std::string>();
      turn.speaker = speaker;
      turns.push_back(std::move(turn));
    } catch (const json::exception&) {
      throw stream_errors::no_segments(cut, field, "has the item " + segment.dump());
    }
  }
  return turns;
}

}  // namespace

StreamPtr attach_tags(StreamPtr source, const CustomFields& tags) {
  if (tags.empty()) return source;
  std::string name = "tags";
  for (const auto& [key, value] : tags) name += " " + key + "=" + std::get<JsonText>(value).text;
  return map(
      std::move(source),
      [tags](const CutPtr& cut) {
        auto changed = std::make_shared<Cut>(*cut);
        for (const auto& [key, value] : tags) {
          const bool is_null = std::get<JsonText>(value).text == "null";
          is_null ? changed->erase_custom(key) : changed->set_custom(key, value);
        }
        return CutPtr(std::move(changed));
      },
      name);
}

CutPtr listening_dialogue(const CutPtr& cut, double agent_silence_duration) {
  if (cut->supervisions.size() != 1 || !cut->recording) return cut;
  const Supervision said = cut->supervisions.front();
  const int64_t rate = cut->recording->sample_rate_hz;
  const double user_s = cut->duration_s;
  double whole_s = user_s;
  auto changed = std::make_shared<Cut>(*cut);
  const auto num_silent =
      agent_silence_duration > 0 ? to_whole(agent_silence_duration * static_cast<double>(rate)) : 0;
  if (num_silent > 0) {
    whole_s = static_cast<double>(compute_num_samples(user_s, rate) + num_silent) /
              static_cast<double>(rate);
  }
  Supervision user = turn_of(cut->id + "_user", cut->recording->id, 0, user_s);
  user.text = said.text;
  user.language = said.language;
  user.speaker = "user";
  const double agent_start = agent_silence_duration < 0 ? user_s + agent_silence_duration : user_s;
  Supervision agent = turn_of(cut->id + "_agent", cut->recording->id, agent_start,
                              std::fabs(agent_silence_duration));
  agent.text = "";
  agent.language = said.language;
  agent.speaker = "agent";
  changed->supervisions = {std::move(user), std::move(agent)};
  changed->set_custom("task", quoted("asr"));
  const int64_t num_samples = to_whole(whole_s * static_cast<double>(rate));
  changed->set_custom("target_audio", silent_recording(cut->id + "_target", num_samples, rate));
  // The agent's recording begins with the cut, even if the cut begins inside the user's recording.
  if (changed->start_s > 0) changed->set_custom("target_audio_unaligned", JsonText{"true"});
  if (num_silent == 0) return changed;
  return std::make_shared<const Cut>(followed_by_silence(std::move(*changed), num_silent));
}

const Cut& without_silence(const Cut& cut) {
  if (cut.kind != Cut::Kind::kMixed || cut.tracks.size() != 2) return cut;
  const Cut& first = *cut.tracks[0].cut;
  const Cut& second = *cut.tracks[1].cut;
  const bool is_silence = second.kind == Cut::Kind::kPadding && second.id == first.id + kSilence;
  return is_silence ? first : cut;
}

CutPtr dialogue_of_segments(const CutPtr& cut, double move_agent_text_back_by) {
  auto changed = std::make_shared<Cut>(*cut);
  changed->supervisions =
      turns_of_segments(*cut, "agent_segments", "agent", move_agent_text_back_by);
  for (Supervision& turn : turns_of_segments(*cut, "user_segments", "user", 0)) {
    changed->supervisions.push_back(std::move(turn));
  }
  sort_by_start(changed->supervisions);
  changed->set_custom("task", quoted("s2s_duplex_overlap_as_s2s_duplex"));
  return changed;
}

CutPtr reversed_dialogue(const CutPtr& cut, const DuplexChange& change) {
  const Recording* agent = cut->find_recording("target_audio");
  if (!cut->recording) throw stream_errors::nothing_to_swap(*cut, "recording");
  if (agent == nullptr) throw stream_errors::nothing_to_swap(*cut, "target_audio");
  auto changed = std::make_shared<Cut>(*cut);
  for (Supervision& turn : changed->supervisions) {
    const std::string role = lower(turn.speaker);
    if (contains_lower(change.user_roles, role)) {
      turn.speaker = change.target_agent_name;
    } else if (contains_lower(change.agent_roles, role)) {
      turn.speaker = change.target_user_name;
    }
  }
  changed->recording = *agent;
  changed->set_custom("target_audio", *cut->recording);
  changed->duration_s = changed->recording->duration_s;
  changed->set_custom("task", quoted("s2s_duplex_reverse_role"));
  return changed;
}

StreamPtr change_to_duplex(StreamPtr source, const InputNode& node) {
  const DuplexChange& change = node.duplex;
  if (node.type == "nemo_tarred_to_duplex") {
    const double silence = change.agent_silence_duration;
    return map(
        std::move(source),
        [silence](const CutPtr& cut) { return listening_dialogue(cut, silence); },
        fmt::format("{} {}", node.type, silence));
  }
  if (node.type == "s2s_duplex_reverse_role") {
    return map(
        std::move(source), [change](const CutPtr& cut) { return reversed_dialogue(cut, change); },
        fmt::format("{} {} {} {} {}", node.type, fmt::join(change.agent_roles, ","),
                    fmt::join(change.user_roles, ","), change.target_agent_name,
                    change.target_user_name));
  }
  if (node.type != "s2s_duplex_overlap_as_s2s_duplex") return source;
  const double back = change.move_agent_text_back_by;
  StreamPtr stream = map(
      std::move(source), [back](const CutPtr& cut) { return dialogue_of_segments(cut, back); },
      fmt::format("{} {}", node.type, back));
  if (!change.filter_samples_starting_with_agent) return stream;
  const auto begins_with_user = [roles = change.agent_roles](const Cut& cut) {
    return !cut.supervisions.empty() && !contains(roles, cut.supervisions.front().speaker);
  };
  return filter(std::move(stream), begins_with_user,
                fmt::format("begins with user {}", fmt::join(change.agent_roles, ",")));
}

}  // namespace s2s::data
