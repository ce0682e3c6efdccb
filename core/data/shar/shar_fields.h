#pragma once
// What a cut's fields become in a Shar set: encoded data and a manifest with a placeholder.

#include <optional>
#include <string>

#include "cuts/cut_audio.h"
#include "s2s/data/cuts.h"
#include "shar/shar_writer.h"

namespace s2s::data {

/// A member of a tar.
struct SharItem {
  std::string extension;
  std::string data;
  std::string manifest;     // a JSON line
  CustomValue placeholder;  // what the cut has in its place
};

/// A mixed cut as one with a recording of the mix, from 0 on, with custom fields of the first track
/// that is not padding. The recording says nothing of sources and channels yet: shar_recording
/// does. Source: lhotse MixedCut.to_mono.
Cut mix_as_recording(const Cut& mix);

/// The field of a cut as data (of a mixed cut: of its mix, at the rate of its first track); nothing
/// when the cut has no such field. Errors: [data/shar-value], those of CutAudio and encode_audio.
std::optional<SharItem> shar_recording(const Cut& cut, const SharField& field, CutAudio& audio);
std::optional<SharItem> shar_array(const Cut& cut, const SharField& field);

/// The format that encoded audio is in ("flac"), by its first bytes; "" for an unknown one.
std::string format_of_audio(std::string_view first_bytes);

}  // namespace s2s::data
