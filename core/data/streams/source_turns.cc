#include "streams/source_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/foreign_json.h"
#include "base/text.h"
#include "cuts/mixed_cut.h"
#include "s2s/data/frames.h"
#include "streams/nemo_entry.h"
#include "streams/source_silence.h"
#include "streams/stream_errors.h"

namespace s2s::data {
namespace {

using nlohmann::ordered_json;

constexpr const char* kForm =
    "{\"id\", \"conversations\": [{\"from\": \"User\", \"type\": \"audio\", \"value\": PATH}, "
    "...]}";

/// Parses a line and sets where the conversation comes from.
ordered_json parse_object(const std::string& text, const std::string& file, int64_t line,
                          Conversation& conversation) {
  conversation.file = file;
  conversation.line = line;
  conversation.place = fmt::format("{}:{}", file, line);
  ordered_json json = try_parse_foreign_json<ordered_json>(text);
  if (!json.is_object() || !json.contains("conversations") || !json["conversations"].is_array()) {
    throw stream_errors::conversation(conversation.place, "no conversation", kForm);
  }
  return json;
}

std::string member(const ordered_json& json, const char* name, const std::string& place) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_string()) {
    throw stream_errors::conversation(place, fmt::format("{} is missing or no text", name), kForm);
  }
  return found->get<std::string>();
}

std::optional<double> maybe_number(const ordered_json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

ConversationTurn turn_from(const std::string& role) {
  ConversationTurn turn;
  turn.is_user = role == "user";
  turn.is_assistant = role == "assistant";
  turn.role = role;
  return turn;
}

/// Adds up to three turns: the text before the mark, the audio, and the text after the mark.
void add_marked_turn(const ConversationTurn& turn, const std::string& mark,
                     const ConversationTurn& audio_turn, std::vector<ConversationTurn>& turns) {
  const size_t at = turn.value.find(mark);
  const std::string rest = turn.value.substr(at + mark.size());
  const auto add_text = [&](const std::string& text) {
    if (text.empty()) return;
    turns.push_back(turn);
    turns.back().value = text;
  };
  add_text(stripped(turn.value.substr(0, at)));
  turns.push_back(audio_turn);
  add_text(stripped(rest.substr(0, rest.find(mark))));
}

/// Places turns on the time line.
class Dialogue {
 public:
  explicit Dialogue(const Conversation& conversation) : conversation_(conversation) {}

  Cut make() {
    for (const ConversationTurn& turn : conversation_.turns) add(turn);
    if (num_user_turns_ == 0) {
      fail("no audio of the user",
           "at least one turn of the user with audio, which a duplex model "
           "listens to; leave text conversations out");
    }
    if (num_agent_turns_ > 1) {
      fail(fmt::format("{} audio turns of the assistant", num_agent_turns_),
           "one at most (write dialogues with the whole of the agent's audio as target_audio)");
    }
    return finish();
  }

 private:
  [[noreturn]] void fail(const std::string& problem, const std::string& expected) const {
    throw stream_errors::conversation(conversation_.place, problem, expected);
  }

  void add(const ConversationTurn& turn) {
    if (turn.is_audio) {
      turn.is_user ? add_user(turn) : add_agent(turn);
    } else if (turn.is_assistant && !turn.value.empty()) {
      add_supervision("agent", turn.value, spoken_seconds(turn.value));
      now_s_ = round_time(now_s_ + spoken_seconds(turn.value));
    }
  }

  void add_user(const ConversationTurn& turn) {
    ++num_user_turns_;
    add_supervision("user", turn.text, turn.cut->duration_s);
    add_track(*turn.cut);
  }

  /// Adds the agent's audio and silence of the same length for the user.
  void add_agent(const ConversationTurn& turn) {
    ++num_agent_turns_;
    add_supervision("agent", turn.text, turn.cut->duration_s);
    Cut silent = *turn.cut;
    const int64_t rate = silent.recording->sample_rate_hz;
    const int64_t count = std::max<int64_t>(1, compute_num_samples(silent.duration_s, rate));
    silent.set_custom("target_audio", *turn.cut->recording);
    silent.recording = silent_recording(turn.cut->recording->id, count, rate);
    silent.channels = {0};
    silent.kind = Cut::Kind::kMono;
    silent.start_s = 0;
    silent.set_custom("target_audio_unaligned", JsonText{"true"});
    add_track(std::move(silent));
  }

  void add_track(Cut cut) {
    MixTrack track;
    track.offset_s = now_s_;
    now_s_ = round_time(now_s_ + cut.duration_s);
    audio_end_s_ = now_s_;
    cuts_.push_back(std::move(cut));
    tracks_.push_back(std::move(track));
  }

  void add_supervision(const char* speaker, const std::optional<std::string>& text,
                       double duration_s) {
    Supervision turn;
    turn.id = fmt::format("{}-{}", conversation_.id, turns_.size());
    turn.recording_id = conversation_.id;
    turn.start_s = now_s_;
    turn.duration_s = duration_s;
    turn.text = text;
    turn.speaker = speaker;
    turns_.push_back(std::move(turn));
  }

  Cut finish() {
    Cut& first = cuts_.front();
    if (num_agent_turns_ == 0) add_silent_target(first);
    // Times become relative to the first cut, which is where the dialogue's audio begins.
    for (Supervision& turn : turns_) turn.start_s = round_time(turn.start_s - tracks_[0].offset_s);
    first.supervisions = std::move(turns_);
    for (const auto& [name, value] : conversation_.custom) first.set_custom(name, value);
    const int64_t rate = first.recording->sample_rate_hz;
    const bool is_one = cuts_.size() == 1 && now_s_ <= audio_end_s_;
    if (is_one) return named(std::move(first));
    for (size_t i = 0; i < cuts_.size(); ++i) {
      tracks_[i].cut = std::make_shared<const Cut>(std::move(cuts_[i]));
    }
    if (now_s_ > audio_end_s_) add_padding(rate);
    Cut mix;
    mix.kind = Cut::Kind::kMixed;
    mix.tracks = std::move(tracks_);
    update_mixed(mix);
    return named(std::move(mix));
  }

  static void add_silent_target(Cut& cut) {
    const int64_t rate = cut.recording->sample_rate_hz;
    const int64_t count = std::max<int64_t>(1, compute_num_samples(cut.duration_s, rate));
    cut.set_custom("target_audio", silent_recording(cut.id + "_target", count, rate));
    cut.set_custom("target_audio_unaligned", JsonText{"true"});
  }

  void add_padding(int64_t rate) {
    auto padding = std::make_shared<Cut>();
    padding->kind = Cut::Kind::kPadding;
    padding->id = conversation_.id + "-end";
    padding->duration_s = round_time(now_s_ - audio_end_s_);
    padding->padding = Cut::Padding{};
    padding->padding->sample_rate_hz = rate;
    padding->padding->num_samples = compute_num_samples(padding->duration_s, rate);
    MixTrack track;
    track.cut = std::move(padding);
    track.offset_s = audio_end_s_;
    tracks_.push_back(std::move(track));
  }

  Cut named(Cut cut) const {
    cut.id = conversation_.id;
    cut.manifest = conversation_.file;
    cut.line = conversation_.line;
    return cut;
  }

  const Conversation& conversation_;
  std::vector<Cut> cuts_;
  std::vector<MixTrack> tracks_;
  std::vector<Supervision> turns_;
  double now_s_ = 0;
  double audio_end_s_ = 0;
  int64_t num_user_turns_ = 0;
  int64_t num_agent_turns_ = 0;
};

}  // namespace

double spoken_seconds(const std::string& text) { return static_cast<double>(text.size()) / 15.0; }

Conversation parse_conversation(const std::string& text, const std::string& file, int64_t line) {
  Conversation conversation;
  const ordered_json json = parse_object(text, file, line, conversation);
  conversation.id = member(json, "id", conversation.place);
  const auto custom = json.find("custom");
  if (custom != json.end() && custom->is_object()) {
    conversation.is_skipped = NemoEntry{*custom, file, line}.is_skipped();
    conversation.custom = custom_fields(*custom, {});
  }
  for (const ordered_json& item : json["conversations"]) {
    ConversationTurn turn = turn_from(lower(member(item, "from", conversation.place)));
    turn.is_audio = member(item, "type", conversation.place) == "audio";
    turn.value = member(item, "value", conversation.place);
    turn.offset_s = maybe_number(item, "offset").value_or(0);
    turn.duration_s = maybe_number(item, "duration");
    if (const auto said = item.find("text"); said != item.end() && said->is_string()) {
      turn.text = said->get<std::string>();
    }
    conversation.turns.push_back(std::move(turn));
  }
  return conversation;
}

Conversation parse_share_gpt(const std::string& text, const std::string& file, int64_t line,
                             const std::vector<std::string>& placeholders) {
  Conversation conversation;
  const ordered_json json = parse_object(text, file, line, conversation);
  conversation.id = json.value("id", std::string("missing-example-id"));
  const std::string sound = json.value("sound", std::string());
  const std::string audio = sound.empty() ? json.value("ori_sound", std::string()) : sound;
  for (const ordered_json& item : json["conversations"]) {
    const std::string role = lower(member(item, "from", conversation.place));
    ConversationTurn turn = turn_from(role == "human" || role == "user" ? "user" : "assistant");
    turn.value = member(item, "value", conversation.place);
    const auto mark = std::find_if(
        placeholders.begin(), placeholders.end(),
        [&](const std::string& known) { return turn.value.find(known) != std::string::npos; });
    if (mark == placeholders.end()) {
      conversation.turns.push_back(std::move(turn));
      continue;
    }
    if (audio.empty()) {
      throw stream_errors::conversation(conversation.place,
                                        fmt::format("'{}' without sound or ori_sound", *mark),
                                        "the path of the audio");
    }
    ConversationTurn audio_turn = turn;
    audio_turn.is_audio = true;
    audio_turn.value = audio;
    audio_turn.offset_s = maybe_number(item, "offset").value_or(0);
    audio_turn.duration_s = maybe_number(item, "duration");
    add_marked_turn(turn, *mark, audio_turn, conversation.turns);
  }
  return conversation;
}

Cut dialogue_of(const Conversation& conversation) { return Dialogue(conversation).make(); }

}  // namespace s2s::data
