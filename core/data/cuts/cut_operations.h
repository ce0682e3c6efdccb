#pragma once
// Lhotse's operations on cuts, with the same numbers. They read no audio, and each returns a new
// cut. Where Lhotse draws a random id, the new id is derived from the old one and the operation.
// Errors of all: [data/cut-operation] when the operation is not defined for the cut.
// Source: lhotse/cut/{base,data,mono,multi,padding,mixed,set}.py, lhotse/audio/recording.py.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/data/cuts.h"

namespace s2s {

struct TruncateOptions {
  double offset_s = 0;  // from the begin of the cut
  std::optional<double> duration_s = {};
  bool keep_excessive_supervisions = true;  // false: keeps only those entirely inside the part
  bool preserve_id = false;
};
/// Returns a part of the cut.
Cut truncate(const Cut& cut, const TruncateOptions& options);

enum class Direction { kLeft, kRight, kBoth };

/// ln(1e-10), the value of padded features.
constexpr double kPaddedFeature = -23.025850929940457;

struct PadOptions {
  // Exactly one of the next three is set.
  std::optional<double> duration_s = {};
  std::optional<int64_t> num_frames = {};
  std::optional<int64_t> num_samples = {};
  double feat_value = kPaddedFeature;
  Direction direction = Direction::kRight;
  bool preserve_id = false;
  CustomFields pad_values = {};  // for custom arrays
};
/// Adds silence before or after the cut, up to the given length. Returns a cut that is long enough
/// unchanged.
Cut pad(const Cut& cut, const PadOptions& options);

enum class KeepId { kNone, kLeft, kRight };

struct MixOptions {
  double offset_s = 0;  // where `mixed_in` begins in `reference`
  std::optional<double> snr_db = {};
  KeepId preserve_id = KeepId::kNone;
  std::optional<std::string> tag = {};
};
/// Plays both cuts at once. `mixed_in` begins before `reference` ends.
Cut mix(const Cut& reference, const Cut& mixed_in, const MixOptions& options);
/// Puts `right` after `left`.
Cut append(const Cut& left, const Cut& right, std::optional<double> snr_db = {},
           KeepId preserve_id = KeepId::kNone);

/// `recording_field` names a custom recording to resample instead of the cut's own.
Cut resample(const Cut& cut, int64_t sample_rate_hz, bool affix_id = false,
             const std::string& recording_field = "");
Cut perturb_speed(const Cut& cut, double factor, bool affix_id = true);
Cut normalize_loudness(const Cut& cut, double target_db, bool mix_first = true,
                       bool affix_id = false);

struct ReverbOptions {
  std::optional<Recording> rir = {};  // empty: the seeds define a simulated room
  bool normalize_output = true;
  bool early_only = false;
  bool affix_id = true;
  std::vector<int64_t> rir_channels = {0};
  // Empty seeds are derived from the cut's id.
  std::optional<int64_t> room_seed = {};
  std::optional<int64_t> source_seed = {};
  bool mix_first = true;
};
Cut reverb_rir(const Cut& cut, const ReverbOptions& options);

/// Resamples a recording.
Recording resample(const Recording& recording, int64_t sample_rate_hz);
Recording perturb_speed(const Recording& recording, double factor, bool affix_id = true);
Recording normalize_loudness(const Recording& recording, double target_db, bool affix_id = false);
/// Adds reverberation to a recording. If `rir` is empty, both seeds must be set.
Recording reverb_rir(const Recording& recording, const ReverbOptions& options);

/// Replaces all turns by one. With `keep_first` it has the first turn's id, speaker and so on.
/// Otherwise these are joined, as in "cat#a#b".
Cut merge_supervisions(const Cut& cut, bool keep_first = false);

/// Sorts turns by their starts; turns with equal starts keep their order.
void sort_by_start(std::vector<Supervision>& turns);

/// Splits a cut into parts of `duration_s` that begin every `hop_s` (0: without gaps and overlaps).
/// Their ids are ID-0, ID-1, ...
std::vector<Cut> cut_into_windows(const Cut& cut, double duration_s, double hop_s = 0,
                                  bool keep_excessive_supervisions = true);

}  // namespace s2s
