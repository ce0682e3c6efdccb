#pragma once
// The data sets and configurations of tests/reference/nemo_loader.py, and what NeMo makes of them.

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "common/places.h"
#include "common/reference_json.h"
#include "config/yaml_reader.h"
#include "s2s/config.h"
#include "s2s/data/cuts.h"

namespace s2s::loader_cases {

using Json = nlohmann::json;

inline const std::string& folder() {
  static const std::string kFolder = s2s::test::source_dir() + "/tests/reference/data/nemo_loader";
  return kFolder;
}

inline const Json& all() {
  static const Json kCases = test::reference_json("nemo_loader/cases.json.gz");
  return kCases;
}

/// A case's configuration: JSON is YAML.
inline Config config_of(const Json& test_case) {
  return parse_yaml(test_case.at("config").dump(), test_case.at("name").get<std::string>());
}

inline double rounded(double number) { return std::round(number * 1e8) / 1e8; }

inline Json turn_fields(const Supervision& turn) {
  const auto text = [](const std::optional<std::string>& value) {
    return value ? Json(*value) : Json();
  };
  return {{"id", turn.id},
          {"start", rounded(turn.start_s)},
          {"duration", rounded(turn.duration_s)},
          {"text", text(turn.text)},
          {"language", text(turn.language)},
          {"speaker", turn.speaker.empty() ? Json() : Json(turn.speaker)}};
}

inline Json custom_fields(const CustomFields& custom) {
  Json fields = Json::object();
  for (const auto& [name, value] : custom) {
    if (name == "shard_origin" || name == "shar_epoch" || name == "manifest_origin" ||
        name == "tar_origin" || name == "target_audio_unaligned") {
      continue;
    }
    if (const auto* text = std::get_if<JsonText>(&value)) fields[name] = Json::parse(text->text);
    if (const auto* recording = std::get_if<Recording>(&value)) {
      fields[name] = {{"recording", recording->id},
                      {"rate", recording->sample_rate_hz},
                      {"samples", recording->num_samples}};
    }
  }
  return fields;
}

inline std::string named(std::string text) {
  const std::string root = std::filesystem::absolute(folder()).lexically_normal().string();
  if (const size_t at = text.find(root); at != std::string::npos) {
    text.replace(at, root.size(), "{root}");
  }
  return text;
}

inline Json cut_fields(const Cut& cut) {
  Json fields = {{"id", named(cut.id)}, {"duration", rounded(cut.duration_s)}};
  fields["turns"] = Json::array();
  for (const Supervision& turn : cut.supervisions) {
    fields["turns"].push_back(turn_fields(turn));
    fields["turns"].back()["id"] = named(turn.id);
  }
  if (cut.kind != Cut::Kind::kMixed) {
    fields["custom"] = custom_fields(cut.custom);
    fields["rate"] = cut.sample_rate_hz();
  }
  return fields;
}

}  // namespace s2s::loader_cases
