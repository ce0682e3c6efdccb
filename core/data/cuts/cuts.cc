#include "s2s/data/cuts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "cuts/mixed_cut.h"
#include "files/json_fields.h"
#include "s2s/data/frames.h"

namespace s2s {
namespace {

template <typename Members>
auto* find_in(Members& members, const std::string& name) {
  const auto it = std::find_if(members.begin(), members.end(),
                               [&](const auto& member) { return member.first == name; });
  return it == members.end() ? nullptr : &it->second;
}

/// Returns a custom field as JSON, or nothing if it is a recording or an array.
std::optional<data::JsonValue> custom_json(const Cut& cut, const std::string& name) {
  const CustomValue* value = cut.find_custom(name);
  const JsonText* json = value == nullptr ? nullptr : std::get_if<JsonText>(value);
  if (json == nullptr) return std::nullopt;
  return data::parse_json_line(json->text, {cut.manifest, cut.line, "custom." + name});
}

}  // namespace

std::vector<int64_t> Recording::all_channels() const {
  if (!channel_ids.empty()) return channel_ids;
  std::set<int64_t> all;
  for (const AudioSource& source : sources) {
    all.insert(source.channels.begin(), source.channels.end());
  }
  return {all.begin(), all.end()};
}

double Supervision::end_s() const { return round_time(start_s + duration_s); }

const std::vector<AlignedWord>& Supervision::words() const {
  static const std::vector<AlignedWord> none;
  const std::vector<AlignedWord>* words = find_in(alignment, "word");
  return words == nullptr ? none : *words;
}

std::string Cut::place() const { return fmt::format("{}:{}: cut '{}'", manifest, line, id); }

int64_t Cut::sample_rate_hz() const {
  if (kind == Kind::kMixed) {
    return tracks.empty() ? 0 : data::first_data_track(*this).cut->sample_rate_hz();
  }
  if (kind == Kind::kPadding) return padding ? padding->sample_rate_hz : 0;
  if (features) {
    const data::LineLocation here{manifest, line, "features"};
    const data::JsonFields fields(data::parse_json_line(features->manifest.text, here), here);
    return fields.integer("sampling_rate");
  }
  return recording ? recording->sample_rate_hz : 0;
}

const CustomValue* Cut::find_custom(const std::string& name) const {
  if (kind != Kind::kMixed) return find_in(custom, name);
  for (const MixTrack& track : tracks) {
    if (track.mute || track.cut->kind == Kind::kPadding || track.cut->kind == Kind::kMixed)
      continue;
    if (const CustomValue* value = find_in(track.cut->custom, name)) return value;
  }
  return nullptr;
}

const Recording* Cut::find_recording(const std::string& name) const {
  const CustomValue* value = find_custom(name);
  return value == nullptr ? nullptr : std::get_if<Recording>(value);
}

std::optional<std::string> Cut::custom_text(const std::string& name) const {
  const std::optional<data::JsonValue> json = custom_json(*this, name);
  std::string_view text;
  if (!json || json->get(text) != simdjson::SUCCESS) return std::nullopt;
  return std::string(text);
}

std::optional<double> Cut::custom_number(const std::string& name) const {
  const std::optional<data::JsonValue> json = custom_json(*this, name);
  return json ? data::json_number(*json) : std::nullopt;
}

bool Cut::custom_flag(const std::string& name) const {
  const std::optional<data::JsonValue> json = custom_json(*this, name);
  bool flag = false;
  return json && json->get(flag) == simdjson::SUCCESS && flag;
}

std::vector<int64_t> Cut::custom_integers(const std::string& name) const {
  const std::optional<data::JsonValue> json = custom_json(*this, name);
  if (!json) return {};
  int64_t number = 0;
  if (json->get(number) == simdjson::SUCCESS) return {number};
  simdjson::dom::array items;
  if (json->get(items) != simdjson::SUCCESS) return {};
  std::vector<int64_t> numbers;
  for (const data::JsonValue item : items) {
    if (item.get(number) != simdjson::SUCCESS) return {};
    numbers.push_back(number);
  }
  return numbers;
}

void Cut::set_custom(const std::string& name, CustomValue value) {
  if (kind == Kind::kMixed) {
    return data::change_first_track(*this,
                                    [&](Cut& first) { first.set_custom(name, std::move(value)); });
  }
  if (CustomValue* old = find_in(custom, name)) {
    *old = std::move(value);
  } else {
    custom.emplace_back(name, std::move(value));
  }
}

void Cut::erase_custom(const std::string& name) {
  if (kind == Kind::kMixed) {
    return data::change_first_track(*this, [&](Cut& first) { first.erase_custom(name); });
  }
  std::erase_if(custom, [&](const auto& member) { return member.first == name; });
}

}  // namespace s2s
