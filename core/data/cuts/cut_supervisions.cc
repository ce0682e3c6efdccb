// Sorts and merges the turns of a cut.

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "cuts/cut_numbers.h"
#include "cuts/cut_operations.h"
#include "cuts/cuts_errors.h"
#include "cuts/mixed_cut.h"
#include "files/json_fields.h"
#include "files/json_text.h"

namespace s2s::data {
namespace {

using JsonType = simdjson::dom::element_type;

/// Python's repr of a string. Characters that are not ASCII are unchanged.
std::string quoted(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char mark = has_single && !has_double ? '"' : '\'';
  std::string result(1, mark);
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (c == '\r') {
      result += "\\r";
    } else {
      if (c == mark || c == '\\') result += '\\';
      result += c;
    }
  }
  return result + mark;
}

std::string repr(JsonValue value);

std::string number_text(JsonValue value) {
  int64_t integer = 0;
  if (value.type() != JsonType::DOUBLE && value.get(integer) == simdjson::SUCCESS) {
    return std::to_string(integer);
  }
  if (value.type() == JsonType::UINT64) return json_text(value);
  return python_number(*json_number(value));
}

std::string list_text(simdjson::dom::array items) {
  std::string text = "[";
  for (const JsonValue item : items) text += (text.size() > 1 ? ", " : "") + repr(item);
  return text + "]";
}

std::string dict_text(simdjson::dom::object members) {
  std::string text = "{";
  for (const auto& [name, value] : members) {
    text += (text.size() > 1 ? ", " : "") + quoted(name) + ": " + repr(value);
  }
  return text + "}";
}

std::string repr(JsonValue value) {
  bool flag = false;
  switch (value.type()) {
    case JsonType::NULL_VALUE:
      return "None";
    case JsonType::BOOL:
      return value.get(flag) == simdjson::SUCCESS && flag ? "True" : "False";
    case JsonType::ARRAY:
      return list_text(value);
    case JsonType::OBJECT:
      return dict_text(value);
    case JsonType::STRING:
      if (!json_number(value)) return quoted(std::string_view(value));
      return number_text(value);
    default:
      return number_text(value);
  }
}

/// Returns what Python's str() gives for the JSON value: a string without quotes, True, None, ['a',
/// 1.0].
std::string python_text(const JsonText& json) {
  const JsonValue value = parse_json_line(json.text, {"a custom field", 1});
  std::string_view text;
  const bool is_string = value.get(text) == simdjson::SUCCESS && !json_number(value);
  return is_string ? std::string(text) : repr(value);
}

/// Encodes a string as JSON.
JsonText json_of_text(const std::string& text) {
  JsonText json;
  append_json_string(json.text, text);
  return json;
}

}  // namespace
}  // namespace s2s::data

namespace s2s {
namespace {

using Kind = Cut::Kind;

/// Joins values as "cat#a#b". A single value is unchanged.
std::optional<std::string> joined(const std::vector<std::string>& values, bool keep_first) {
  if (values.empty()) return std::nullopt;
  if (values.size() == 1 || keep_first) return values.front();
  std::string text = "cat";
  for (const std::string& value : values) text += "#" + value;
  return text;
}

using Turns = std::vector<const Supervision*>;

template <typename Get>
std::vector<std::string> collected(const Turns& turns, const Get& get) {
  std::vector<std::string> values;
  for (const Supervision* turn : turns) {
    const std::string value = get(*turn);
    if (!value.empty()) values.push_back(value);
  }
  return values;
}

CustomFields merged_custom(const Cut& cut, const Turns& turns, bool keep_first) {
  std::vector<std::pair<std::string, std::vector<std::string>>> values;
  for (const Supervision* turn : turns) {
    for (const auto& [name, value] : turn->custom) {
      const auto* json = std::get_if<JsonText>(&value);
      if (json == nullptr) {
        throw cuts_errors::operation(cut, "merge_supervisions",
                                     "the custom field '" + name + "' is a manifest");
      }
      auto it = std::find_if(values.begin(), values.end(),
                             [&, &key = name](const auto& entry) { return entry.first == key; });
      if (it == values.end()) it = values.insert(values.end(), {name, {}});
      it->second.push_back(data::python_text(*json));
    }
  }
  CustomFields merged;
  for (const auto& [name, texts] : values) {
    merged.emplace_back(name, data::json_of_text(*joined(texts, keep_first)));
  }
  return merged;
}

/// Returns the merged turn without its channels. `turns` are sorted by their starts.
Supervision without_channels(const Cut& cut, const Turns& turns, bool keep_first) {
  Supervision merged;
  merged.start_s = turns.front()->start_s;
  merged.duration_s = data::add_durations({turns.back()->end_s(), -merged.start_s},
                                          data::rate_for(cut, "merge_supervisions"));
  const auto all_of = [&](const auto& get) {
    std::vector<std::string> values;
    for (const Supervision* turn : turns) values.push_back(get(*turn));
    return values;
  };
  merged.id = *joined(all_of([](const auto& turn) { return turn.id; }), keep_first);
  merged.recording_id =
      cut.kind == Kind::kMixed
          ? *joined(all_of([](const auto& turn) { return turn.recording_id; }), keep_first)
          : turns.front()->recording_id;
  merged.text = "";
  for (const std::string& text :
       collected(turns, [](const auto& turn) { return turn.text.value_or(""); })) {
    *merged.text += (merged.text->empty() ? "" : " ") + text;
  }
  merged.speaker =
      joined(collected(turns, [](const auto& turn) { return turn.speaker; }), keep_first)
          .value_or("");
  merged.language = joined(
      collected(turns, [](const auto& turn) { return turn.language.value_or(""); }), keep_first);
  merged.gender = joined(
      collected(turns, [](const auto& turn) { return turn.gender.value_or(""); }), keep_first);
  merged.custom = merged_custom(cut, turns, keep_first);
  for (const Supervision* turn : turns) {
    for (const auto& [kind, words] : turn->alignment) {
      auto it = std::find_if(merged.alignment.begin(), merged.alignment.end(),
                             [&, &key = kind](const auto& entry) { return entry.first == key; });
      if (it == merged.alignment.end()) {
        it = merged.alignment.insert(merged.alignment.end(), {kind, {}});
      }
      it->second.insert(it->second.end(), words.begin(), words.end());
    }
  }
  return merged;
}

/// Returns the turn that replaces all `turns` of the cut, which are sorted by their starts.
Supervision merged_turn(const Cut& cut, const Turns& turns, bool keep_first) {
  Supervision merged = without_channels(cut, turns, keep_first);
  if (cut.kind == Kind::kMulti) {
    std::set<int64_t> channels;
    for (const Supervision* turn : turns) {
      channels.insert(turn->channels.begin(), turn->channels.end());
    }
    merged.channels.assign(channels.begin(), channels.end());
    merged.channel_is_list = true;
  } else if (cut.kind == Kind::kMixed) {
    merged.channels = {-1};
  } else {
    merged.channels = turns.front()->channels;
    merged.channel_is_list = turns.front()->channel_is_list;
  }
  return merged;
}

Cut without_turns(const Cut& cut) {
  Cut changed = cut;
  changed.supervisions.clear();
  if (cut.kind != Kind::kMixed) return changed;
  for (MixTrack& track : changed.tracks) {
    track.cut = std::make_shared<const Cut>(without_turns(*track.cut));
  }
  data::update_mixed(changed);
  return changed;
}

}  // namespace

void sort_by_start(std::vector<Supervision>& turns) {
  std::stable_sort(turns.begin(), turns.end(), [](const Supervision& a, const Supervision& b) {
    return a.start_s < b.start_s;
  });
}

Cut merge_supervisions(const Cut& cut, bool keep_first) {
  if (cut.supervisions.size() <= 1) return cut;
  Turns turns;
  for (const Supervision& turn : cut.supervisions) turns.push_back(&turn);
  std::stable_sort(turns.begin(), turns.end(),
                   [](const auto* a, const auto* b) { return a->start_s < b->start_s; });
  const Supervision merged = merged_turn(cut, turns, keep_first);
  if (cut.kind != Kind::kMixed) {
    Cut changed = cut;
    changed.supervisions = {merged};
    return changed;
  }
  // As in Lhotse, the first track gets the turn, with times of the mix.
  Cut changed = without_turns(cut);
  data::change_first_track(changed, [&](Cut& first) { first.supervisions = {merged}; });
  return changed;
}

}  // namespace s2s
