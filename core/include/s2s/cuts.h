#pragma once
// Lhotse cuts: one dialogue each, with the user's recording, the agent's recording and the turns.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace s2s {

/// A file of a recording and the channels that it holds, in the file's order.
struct AudioFile {
  std::string path;
  std::vector<int64_t> channels;
};

struct Recording {
  std::string id;
  std::vector<AudioFile> files;
  int64_t sample_rate_hz = 0;
  int64_t num_samples = 0;
  double duration_s = 0;
};

/// A word and when it is spoken, on the cut's clock (as Supervision::start_s).
struct AlignedWord {
  std::string text;
  double start_s = 0;
  double end_s = 0;
};

/// One turn. Times are on the cut's clock.
struct Supervision {
  std::string id;
  std::string speaker;
  double start_s = 0;
  double duration_s = 0;
  std::optional<std::string> text;
  std::vector<AlignedWord> words;  // alignment "word"; empty when the manifest has none

  /// Rounded to 8 decimals, as Lhotse's.
  double end_s() const;
};

struct Cut {
  std::string id;
  double start_s = 0;     // in the recording
  double duration_s = 0;  // of the dialogue
  int64_t channel = 0;    // of `recording`
  std::vector<Supervision> supervisions;
  std::optional<Recording> recording;     // the user
  std::optional<Recording> target_audio;  // the agent (custom.target_audio)
  bool target_audio_unaligned = false;    // target_audio starts with the cut, not the recording
  std::vector<int64_t> target_audio_channels;  // empty: all, averaged
  std::string manifest;                        // file and line where the cut is written
  int64_t line = 0;

  /// "file:line: cut 'id'".
  std::string place() const;
};

/// Cuts of one or more manifests, in their order, and what deserves a warning.
struct CutManifest {
  std::vector<Cut> cuts;
  std::vector<std::string> warnings;
};

/// Reads JSONL manifests of MonoCuts, plain or gzip. Relative audio paths are looked up beside the
/// manifest, then in the working directory.
/// Errors, all of a manifest together (at most 20): [data/missing-file], [data/gzip], [data/json],
/// [data/field], [data/not-a-cut], [data/cut-type], [data/source-type], [data/transforms],
/// [data/sample-rate], [data/duration], [data/turn-time], [data/duplicate-id], [data/empty].
/// Source: lhotse's manifest format; NeMo's lookup of relative paths.
CutManifest read_cuts(const std::vector<std::string>& paths);

namespace data {
class ResamplerBank;
}

/// Loads the audio of cuts: mono, float32 [S] with S = compute_num_samples(duration, rate).
/// Resampled when the recording has another rate. Audio that is shorter than the cut by at most
/// half a second is continued by reflection. Safe to use from several threads.
/// Errors: [data/missing-file], [data/unreadable-audio], [data/sample-rate], [data/channel],
/// [data/cut-too-long], [data/duration-mismatch].
/// Source: lhotse Recording.load_audio (numbers), NeMo DuplexS2SDataset (which audio).
class AudioLoader {
 public:
  AudioLoader();
  virtual ~AudioLoader();
  AudioLoader(const AudioLoader&) = delete;
  AudioLoader& operator=(const AudioLoader&) = delete;

  /// The user's. Errors: also [data/no-recording].
  virtual at::Tensor source(const Cut& cut, int64_t sample_rate_hz);
  /// The agent's. Errors: also [data/no-target].
  virtual at::Tensor target(const Cut& cut, int64_t sample_rate_hz);

 private:
  std::unique_ptr<data::ResamplerBank> resamplers_;
};

}  // namespace s2s
