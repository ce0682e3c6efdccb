#include "duplex/kept_codes.h"

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/foreign_json.h"
#include "cuts/cut_array.h"
#include "files/npy.h"
#include "s2s/error.h"

namespace s2s::data {
namespace {

using nlohmann::ordered_json;

constexpr const char* kTarget = "target_audio";
/// Far less than a sample, and more than what sums of times lose.
constexpr double kEqualTimes_s = 1e-6;

Error kept_codes_error(const Cut& cut, const std::string& field, const std::string& problem) {
  return data_error(
      "data/kept-codes",
      fmt::format("{}: '{}' {}; expected the codes of all the agent's audio of this cut; encode "
                  "the cuts again (s2s-run data encode), or remove codes_field so that the codec "
                  "runs",
                  cut.place(), field, problem));
}

std::string mark_name(const std::string& field) { return field + "_of"; }

/// What codes were made of.
struct CodesMark {
  uint64_t codec_id = 0;
  double duration_s = 0;
  int64_t num_frames = 0;
  std::string recording;  // id of the agent's recording
};

JsonText as_json(const CodesMark& mark) {
  return {ordered_json{{"codec", fmt::format("{:016x}", mark.codec_id)},
                       {"duration", mark.duration_s},
                       {"num_frames", mark.num_frames},
                       {"recording", mark.recording}}
              .dump()};
}

std::optional<CodesMark> parse_mark(const CustomValue* value) {
  const auto* const text = value == nullptr ? nullptr : std::get_if<JsonText>(value);
  if (text == nullptr) return std::nullopt;
  try {
    const auto json = parse_foreign_json<ordered_json>(text->text);
    CodesMark mark;
    mark.codec_id = std::stoull(json.at("codec").get<std::string>(), nullptr, 16);
    mark.duration_s = json.at("duration").get<double>();
    mark.num_frames = json.at("num_frames").get<int64_t>();
    mark.recording = json.at("recording").get<std::string>();
    return mark;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

/// The cut whose agent audio is all that the agent says in a mix, from its beginning to its end:
/// noise may have been mixed into the user's audio. Null: there is none.
const Cut* speaking_cut(const Cut& cut, const std::string& field) {
  if (cut.kind != Cut::Kind::kMixed) return &cut;
  const MixTrack* found = nullptr;
  for (const MixTrack& track : cut.tracks) {
    const bool speaks = !track.mute && (track.cut->find_custom(field) != nullptr ||
                                        track.cut->find_recording(kTarget) != nullptr);
    if (speaks && found != nullptr) return nullptr;
    if (speaks) found = &track;
  }
  const bool is_whole = found != nullptr && found->offset_s == 0 &&
                        std::abs(found->cut->duration_s - cut.duration_s) < kEqualTimes_s;
  return is_whole ? speaking_cut(*found->cut, field) : nullptr;
}

/// The codes of a cut, and what they were made of.
std::pair<const StoredArray*, CodesMark> kept_array(const Cut& mix, const std::string& field) {
  const Cut* const cut = speaking_cut(mix, field);
  if (cut == nullptr) {
    throw kept_codes_error(mix, field, "is of a part of this mix, which changes the agent's audio");
  }
  const CustomValue* const value = cut->find_custom(field);
  const auto* const array = value == nullptr ? nullptr : std::get_if<StoredArray>(value);
  if (array == nullptr) {
    throw kept_codes_error(mix, field, value == nullptr ? "is missing" : "is no array");
  }
  const std::optional<CodesMark> mark = parse_mark(cut->find_custom(mark_name(field)));
  if (!mark) {
    throw kept_codes_error(
        mix, field, fmt::format("does not say in '{}' what it was made of", mark_name(field)));
  }
  if (std::abs(cut->start_s) > kEqualTimes_s ||
      std::abs(cut->duration_s - mark->duration_s) > kEqualTimes_s) {
    throw kept_codes_error(
        mix, field,
        fmt::format("was made of {} s from the beginning, but the cut is now {} s from {} s on",
                    mark->duration_s, cut->duration_s, cut->start_s));
  }
  const Recording* const target = cut->find_recording(kTarget);
  if (target != nullptr && target->id != mark->recording) {
    throw kept_codes_error(mix, field,
                           fmt::format("was made of the recording '{}', but the agent's is now "
                                       "'{}'",
                                       mark->recording, target->id));
  }
  return {array, *mark};
}

}  // namespace

void keep_codes(Cut& cut, const std::string& field, const at::Tensor& codes_TK, double frame_s,
                uint64_t codec_id) {
  const bool is_small = codes_TK.numel() == 0 ||
                        codes_TK.max().item<int64_t>() <= std::numeric_limits<int16_t>::max();
  const at::Tensor stored_TK = codes_TK.to(is_small ? at::kShort : at::kInt);
  const ordered_json manifest = {{"array",
                                  {{"storage_type", "memory_npy"},
                                   {"storage_path", ""},
                                   {"storage_key", ""},
                                   {"shape", stored_TK.sizes().vec()}}},
                                 {"temporal_dim", 0},
                                 {"frame_shift", frame_s},
                                 {"start", cut.start_s}};
  const Recording* const target = cut.find_recording(kTarget);
  const CodesMark mark = {codec_id, cut.duration_s, stored_TK.size(0),
                          target == nullptr ? "" : target->id};
  const auto bytes = std::make_shared<const std::string>(files::format_npy(stored_TK));
  cut.set_custom(field, StoredArray{{manifest.dump()}, bytes});
  cut.set_custom(mark_name(field), as_json(mark));
}

void check_kept_codes(const Cut& cut, const std::string& field) { kept_array(cut, field); }

KeptCodes load_kept_codes(const Cut& cut, const std::string& field) {
  const auto [array, mark] = kept_array(cut, field);
  const std::optional<std::string> bytes = read_array_bytes(*array);
  if (!bytes) throw kept_codes_error(cut, field, "is in a storage that is not read");
  const at::Tensor codes_TK = files::parse_npy(*bytes, cut.place() + ": " + field);
  if (codes_TK.dim() != 2 || codes_TK.size(0) != mark.num_frames ||
      !at::isIntegralType(codes_TK.scalar_type(), /*includeBool=*/false)) {
    throw kept_codes_error(cut, field,
                           fmt::format("has the shape [{}] and not {} frames of integers",
                                       fmt::join(codes_TK.sizes().vec(), ", "), mark.num_frames));
  }
  return {codes_TK.t().to(at::kLong).contiguous(), mark.codec_id};
}

}  // namespace s2s::data
