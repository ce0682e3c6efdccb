#pragma once
// Codec tokens of the agent's audio that `s2s-run data encode` stored with the cuts: an array FIELD
// [T, K] (Lhotse's TemporalArray), and FIELD_of, which says what it was made of.
// Shape letters: K codebooks, T frames.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "s2s/data/cuts.h"

namespace s2s::data {

/// The kept codes of a cut.
struct KeptCodes {
  at::Tensor codes_KT;    // int64
  uint64_t codec_id = 0;  // fingerprint of the codec
};

/// Name of the tensor of a batch with the fingerprint of each row's codec, int64 [B].
constexpr const char* kCodecOfCodes = "codec_of_codes";

/// Adds codes [T, K] of all the cut's agent audio to a cut.
void keep_codes(Cut& cut, const std::string& field, const at::Tensor& codes_TK, double frame_s,
                uint64_t codec_id);

/// Checks that a cut's kept codes are those of the agent's audio that AudioLoader::target would
/// load, as far as the manifest says. Errors: [data/kept-codes] if the cut has no codes, or is
/// another part or mix of its recording than the one that was encoded.
void check_kept_codes(const Cut& cut, const std::string& field);

/// Reads the codes, after the check. Errors: also those of reading the array.
KeptCodes load_kept_codes(const Cut& cut, const std::string& field);

}  // namespace s2s::data
