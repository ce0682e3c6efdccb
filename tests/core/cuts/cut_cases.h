#pragma once
// An operation on cuts by its name and arguments in JSON, as tests/reference/lhotse_cuts.py writes
// them.

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cuts/cut_files.h"
#include "cuts/cut_operations.h"
#include "s2s/error.h"

namespace s2s::test {

using CaseJson = nlohmann::ordered_json;

template <typename Value>
std::optional<Value> maybe(const CaseJson& arguments, const char* name) {
  const auto it = arguments.find(name);
  if (it == arguments.end() || it->is_null()) return std::nullopt;
  return it->get<Value>();
}

inline Direction direction_of(const CaseJson& arguments) {
  const std::string name = arguments.value("direction", "right");
  return name == "left" ? Direction::kLeft : name == "right" ? Direction::kRight : Direction::kBoth;
}

inline KeepId keep_id(const CaseJson& arguments) {
  const std::string name = maybe<std::string>(arguments, "preserve_id").value_or("");
  return name == "left" ? KeepId::kLeft : name == "right" ? KeepId::kRight : KeepId::kNone;
}

inline Cut truncate_case(const Cut& cut, const CaseJson& a) {
  return truncate(cut,
                  {a.value("offset", 0.0), maybe<double>(a, "duration"),
                   a.value("keep_excessive_supervisions", true), a.value("preserve_id", false)});
}

inline Cut pad_case(const Cut& cut, const CaseJson& a) {
  PadOptions options;
  options.duration_s = maybe<double>(a, "duration");
  options.num_frames = maybe<int64_t>(a, "num_frames");
  options.num_samples = maybe<int64_t>(a, "num_samples");
  options.direction = direction_of(a);
  options.preserve_id = a.value("preserve_id", false);
  if (a.contains("pad_value_dict")) {
    for (const auto& [name, value] : a["pad_value_dict"].items()) {
      options.pad_values.emplace_back(name, JsonText{value.dump()});
    }
  }
  return pad(cut, options);
}

inline Cut mix_case(const std::vector<Cut>& cuts, const CaseJson& a) {
  return mix(
      cuts.at(0), cuts.at(1),
      {a.value("offset", 0.0), maybe<double>(a, "snr"), keep_id(a), maybe<std::string>(a, "tag")});
}

inline Cut reverb_case(const std::vector<Cut>& cuts, const CaseJson& a) {
  ReverbOptions options;
  if (cuts.size() > 1) options.rir = cuts[1].recording;
  options.normalize_output = a.value("normalize_output", true);
  options.early_only = a.value("early_only", false);
  options.affix_id = a.value("affix_id", true);
  options.rir_channels = a.value("rir_channels", std::vector<int64_t>{0});
  options.room_seed = maybe<int64_t>(a, "room_rng_seed");
  options.source_seed = maybe<int64_t>(a, "source_rng_seed");
  options.mix_first = a.value("mix_first", true);
  return reverb_rir(cuts.at(0), options);
}

using Operation = std::function<std::vector<Cut>(const std::vector<Cut>&, const CaseJson&)>;
using Operations = std::map<std::string, Operation>;

inline const Operations& operations() {
  using Cuts = std::vector<Cut>;
  static const Operations all = {
      {"truncate", [](const Cuts& c, const CaseJson& a) { return Cuts{truncate_case(c[0], a)}; }},
      {"pad", [](const Cuts& c, const CaseJson& a) { return Cuts{pad_case(c[0], a)}; }},
      {"mix", [](const Cuts& c, const CaseJson& a) { return Cuts{mix_case(c, a)}; }},
      {"append",
       [](const Cuts& c, const CaseJson& a) {
         return Cuts{append(c.at(0), c.at(1), maybe<double>(a, "snr"), keep_id(a))};
       }},
      {"resample",
       [](const Cuts& c, const CaseJson& a) {
         return Cuts{resample(c[0], a.value("sampling_rate", 0), a.value("affix_id", false),
                              a.value("recording_field", ""))};
       }},
      {"perturb_speed",
       [](const Cuts& c, const CaseJson& a) {
         return Cuts{perturb_speed(c[0], a.value("factor", 1.0), a.value("affix_id", true))};
       }},
      {"cut_into_windows",
       [](const Cuts& c, const CaseJson& a) {
         return cut_into_windows(c[0], a.value("duration", 0.0), a.value("hop", 0.0),
                                 a.value("keep_excessive_supervisions", true));
       }},
      {"normalize_loudness",
       [](const Cuts& c, const CaseJson& a) {
         return Cuts{normalize_loudness(c[0], a.value("target", 0.0), a.value("mix_first", true),
                                        a.value("affix_id", false))};
       }},
      {"reverb_rir", [](const Cuts& c, const CaseJson& a) { return Cuts{reverb_case(c, a)}; }},
      {"merge_supervisions",
       [](const Cuts& c, const CaseJson& a) {
         return Cuts{merge_supervisions(c[0], a.value("merge_policy", "") == "keep_first")};
       }},
      {"read", [](const Cuts& c, const CaseJson&) { return c; }}};
  return all;
}

/// The cuts that the operation gives, or {"error": message}.
inline CaseJson run_case(const CaseJson& test_case) {
  try {
    std::vector<Cut> cuts;
    for (const CaseJson& cut : test_case.at("cuts")) {
      cuts.push_back(parse_cut(cut.dump(), "case", 1));
    }
    const std::string name = test_case.at("op").get<std::string>();
    CaseJson result = CaseJson::array();
    for (const Cut& cut : operations().at(name)(cuts, test_case.at("args"))) {
      CaseJson made = CaseJson::parse(to_json(cut));
      Cut turns;  // of a mix, too
      turns.supervisions = cut.supervisions;
      made["derived"] = {{"duration", cut.duration_s},
                         {"supervisions", CaseJson::parse(to_json(turns))["supervisions"]}};
      result.push_back(std::move(made));
    }
    return result;
  } catch (const Error& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace s2s::test
