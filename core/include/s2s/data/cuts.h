#pragma once
// Types of Lhotse cuts. A dialogue with the user's recording, the agent's recording and the turns
// is a mono cut. Lhotse's operations create multi-channel, padding and mixed cuts from such cuts.
// Field names and meanings are Lhotse's; cut_files.h reads and writes them.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "s2s/data/fingerprint.h"

namespace s2s {

/// A value that is kept as it was written (JSON on one line), for instance a custom field.
struct JsonText {
  std::string text;
  bool operator==(const JsonText&) const = default;
};

/// Where encoded audio (or an array) is.
struct AudioSource {
  /// How to read `source`.
  enum class Type {
    kFile,     // `source` is a path
    kCommand,  // a shell command whose standard output is the encoded audio
    kUrl,
    kMemory,       // `bytes`
    kShar,         // a placeholder; the bytes are in the Shar tar of this field
    kSharPointer,  // "TAR?o=BEGIN&e=END": `source` is TAR, the member's header begins at `begin`
  };
  Type type = Type::kFile;
  std::vector<int64_t> channels;
  std::string source;
  int64_t begin = 0;  // kSharPointer: byte range in the tar, [begin, end)
  int64_t end = 0;
  std::shared_ptr<const std::string> bytes = {};
  std::optional<JsonText> video = {};  // kept, not used
};

/// One processing step that is applied when a recording or a mixed cut is loaded, as Lhotse writes
/// it: a class name and its arguments ({"factor":1.1}).
struct AudioTransform {
  std::string name;
  JsonText kwargs = {"{}"};
};

/// Audio of one session. Each source contains some of the channels. Times are in seconds.
struct Recording {
  std::string id;
  std::vector<AudioSource> sources;
  int64_t sample_rate_hz = 0;  // after the transforms
  int64_t num_samples = 0;     // after the transforms
  double duration_s = 0;
  std::vector<int64_t> channel_ids;  // empty: the sorted union of the sources' channels
  std::vector<AudioTransform> transforms;

  /// channel_ids if set, else the channels of all sources.
  std::vector<int64_t> all_channels() const;
};

/// A stored array (Lhotse's Array, TemporalArray, Image or Features), kept as JSON. `bytes` is the
/// encoded data (npy, llc) if it was read from a Shar tar.
struct StoredArray {
  JsonText manifest;
  std::shared_ptr<const std::string> bytes = {};
};

using CustomValue = std::variant<JsonText, Recording, StoredArray>;
/// Custom fields in their order.
using CustomFields = std::vector<std::pair<std::string, CustomValue>>;

/// A word (or another unit) and when it is spoken. Times have the same origin as the start of its
/// supervision.
struct AlignedWord {
  std::string text;
  double start_s = 0;
  double duration_s = 0;
  std::optional<double> score = {};

  /// Not rounded.
  double end_s() const { return start_s + duration_s; }
};

/// One turn. Times are relative to the start of the cut.
struct Supervision {
  std::string id;
  std::string recording_id;
  double start_s = 0;
  double duration_s = 0;
  std::vector<int64_t> channels = {0};
  bool channel_is_list = false;  // true: the manifest has a list
  std::optional<std::string> text;
  std::optional<std::string> language;
  std::string speaker;  // "": none
  std::optional<std::string> gender;
  CustomFields custom;
  std::vector<std::pair<std::string, std::vector<AlignedWord>>> alignment;  // by kind

  /// Rounded to 8 decimals, as in Lhotse.
  double end_s() const;
  /// Alignment "word"; empty when there is none.
  const std::vector<AlignedWord>& words() const;
};

struct Cut;

/// A part of a mixed cut.
struct MixTrack {
  std::shared_ptr<const Cut> cut;  // mixed itself only when that mix has transforms or muted tracks
  double offset_s = 0;
  std::optional<double> snr_db;  // relative to the reference track
  std::optional<std::string> tag;
  bool is_snr_reference = false;
  bool mute = false;
};

/// Fields of a padding cut, which has no recording and no features.
struct CutPadding {
  int64_t sample_rate_hz = 0;
  double feat_value = 0;
  std::optional<int64_t> num_frames = {};
  std::optional<int64_t> num_features = {};
  std::optional<int64_t> num_samples = {};
  std::optional<double> frame_shift = {};
  std::optional<JsonText> video = {};
};

/// A span of a recording, or several cuts mixed as tracks, with supervisions. Times in seconds.
struct Cut {
  enum class Kind { kMono, kMulti, kPadding, kMixed };
  Kind kind = Kind::kMono;
  std::string id;
  double start_s = 0;                     // in the recording
  double duration_s = 0;                  // of mixed cuts: derived from the tracks
  std::vector<int64_t> channels = {0};    // of `recording`; a mono cut has one
  std::vector<Supervision> supervisions;  // of mixed cuts: the audible tracks', shifted
  std::optional<Recording> recording;     // the user; of mixed cuts: none
  std::optional<StoredArray> features;    // kept, not used
  CustomFields custom;

  using Padding = CutPadding;
  std::optional<Padding> padding;  // of padding cuts only

  // Mixed cuts.
  std::vector<MixTrack> tracks;
  std::vector<AudioTransform> transforms;  // after mixing

  // Where the cut was read from.
  std::string manifest;
  int64_t line = 0;

  /// "file:line: cut 'id'".
  std::string place() const;
  /// Sample rate: of the features or the recording, of the padding, or (mixed cuts) of the first
  /// audible track that is not padding; 0 when there is no audio.
  int64_t sample_rate_hz() const;
  /// A custom field; for mixed cuts, from the first track that has it. Null: absent.
  const CustomValue* find_custom(const std::string& name) const;
  /// A custom recording ("target_audio": the agent), found as above. Null: absent or of another
  /// type.
  const Recording* find_recording(const std::string& name) const;
  /// A custom string, number or flag. Empty (or false): absent or of another type.
  std::optional<std::string> custom_text(const std::string& name) const;
  std::optional<double> custom_number(const std::string& name) const;
  bool custom_flag(const std::string& name) const;
  /// A custom integer or list of integers; empty: absent or of another type.
  std::vector<int64_t> custom_integers(const std::string& name) const;
  /// Sets or adds a custom field; `erase_custom` removes it. For mixed cuts, this changes the first
  /// track that is not padding.
  void set_custom(const std::string& name, CustomValue value);
  void erase_custom(const std::string& name);
};

}  // namespace s2s
