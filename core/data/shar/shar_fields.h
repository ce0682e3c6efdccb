#pragma once
// Converts a cut's fields for a Shar set: to encoded data, and to a manifest with a placeholder.

#include <optional>
#include <string>

#include "cuts/cut_audio.h"
#include "s2s/data/cuts.h"
#include "shar/shar_writer.h"

namespace s2s::data {

/// A value that is written as a member of a tar.
struct SharItem {
  std::string extension;
  std::string data;
  std::string manifest;     // a JSON line
  CustomValue placeholder;  // replaces the value in the cut
};

/// Converts a mixed cut to one with a recording of the mix, which begins at 0. Its custom fields
/// are those of the first track that is not padding. The recording's sources and channels are set
/// later, by shar_recording.
/// Source: lhotse MixedCut.to_mono.
Cut mix_as_recording(const Cut& mix);

/// Encodes a field of a cut. For a mixed cut this is its mix, at the rate of its first track.
/// Returns nothing if the cut has no such field.
/// Errors: [data/shar-value], those of CutAudio and encode_audio.
std::optional<SharItem> shar_recording(const Cut& cut, const SharField& field, CutAudio& audio);
std::optional<SharItem> shar_array(const Cut& cut, const SharField& field);

/// Returns the format of encoded audio ("flac") according to its first bytes; "" if it is unknown.
std::string format_of_audio(std::string_view first_bytes);

}  // namespace s2s::data
