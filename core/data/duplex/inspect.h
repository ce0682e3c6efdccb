#pragma once
// Describes a set of duplex cuts: counts, histograms, and mistakes in texts and audio. Cuts are
// added one by one, so a set may have any size.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "duplex/turn_fit.h"
#include "s2s/data/cuts.h"
#include "s2s/data/duplex_data.h"
#include "samplers/sampler_parts.h"

namespace s2s::data {

/// Counts of values in [edges[i], edges[i + 1]); the last bin has no upper edge.
struct Histogram {
  std::vector<double> edges;
  std::vector<int64_t> counts;

  explicit Histogram(std::vector<double> lower_edges);
  /// Values below the first edge count in the first bin.
  void add(double value);
  int64_t total() const;
};

struct SpeakerReport {
  std::string speaker;
  std::string role;  // "user", "agent" or "none"
  int64_t turns = 0;
  int64_t words = 0;
  double hours = 0;           // of the speaker's turns
  int64_t unknown_words = 0;  // with a part that the tokenizer does not know, or encodes as PAD
};

/// Counts the kinds of recordings. The manifests say these; no file is opened.
struct RecordingKinds {
  std::map<int64_t, int64_t> sample_rates;  // by Hz
  std::map<int64_t, int64_t> channels;      // by number of channels
  std::map<std::string, int64_t> formats;   // by "wav file", "flac in shar", "command", ...
  int64_t missing = 0;                      // cuts without this recording

  void add(const Recording* recording);
};

/// A turn with more tokens of text than frames.
struct LongText {
  std::string turn;  // "file:line: cut 'id', turn 'id'"
  std::string speaker;
  std::string text;
  int64_t tokens = 0;  // with BOS
  int64_t frames = 0;
};

/// Something wrong with an audio file or with a cut.
struct AudioProblem {
  std::string kind;   // "unreadable", "silent", "clipped", "command" (refused)
  std::string cut;    // "file:line: cut 'id'"
  std::string which;  // "user" or "agent"
  std::string detail;
};

struct BucketOptions {
  std::vector<double> bins;  // upper bounds; empty: estimated from the first cuts
  int64_t num_buckets = 10;  // if bins are estimated
  int64_t num_cuts_for_bins = 10000;
  BatchLimits limits;                // of a batch
  std::vector<int64_t> batch_sizes;  // of each bucket; replaces `limits`
};

struct BucketLine {
  double upper_s = 0;  // of the last bucket: the longest cut, or its bound
  int64_t cuts = 0;
  double hours = 0;
  int64_t batches = 0;
  double padded_hours = 0;  // including padding
};

struct BucketReport {
  std::vector<double> bins;
  bool are_estimated = false;
  std::vector<BucketLine> lines;  // one more than bins; empty without cuts
  /// Padding of all batches: 1 - hours / padded hours.
  double padding_share() const;
  /// The same share if batches were made in the order of the cuts, without buckets.
  double unsorted_padding_share = 0;
};

/// Fills batches in the order of the cuts.
class BucketInspector {
 public:
  explicit BucketInspector(BucketOptions options);
  void add(double duration_s);
  /// Batches that are not full count, too.
  BucketReport report() const;

 private:
  /// The cuts of an unfinished batch.
  struct Open {
    explicit Open(const BatchLimits& limits) : count(limits) {}
    BatchCount count;
    double longest_s = 0;
  };
  struct Bucket {
    BucketLine line;
    std::shared_ptr<const BatchLimits> limits;  // shared, because counts refer to it
    std::optional<Open> open;
  };
  void begin();
  void add_to(Bucket& bucket, double duration_s) const;
  static void close(Bucket& bucket);

  BucketOptions options_;
  std::vector<double> first_;  // cuts that wait until the bins are known
  bool has_bins_;              // whether bins were given
  bool has_begun_ = false;
  std::vector<Bucket> buckets_;
  Bucket unsorted_;
};

struct SetReport {
  int64_t num_cuts = 0;
  double hours = 0;  // of all cuts
  std::vector<SpeakerReport> speakers;
  Histogram durations{{0, 1, 2, 3, 5, 8, 10, 15, 20, 30, 60}};
  /// Seconds between consecutive turns of different speakers.
  Histogram gaps{{0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2, 5}};
  Histogram overlaps{{0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2, 5}};
  TokenChannelCounts agent_text;
  TokenChannelCounts user_text;
  std::vector<LongText> long_texts;  // the first 20
  RecordingKinds user_audio;
  RecordingKinds agent_audio;
  BucketReport buckets;
  std::vector<std::string> unsuitable;  // the first 20 findings of check_duplex_cut
  int64_t num_unsuitable = 0;           // cuts with such findings
  int64_t num_duplicate_ids = 0;        // among the first two million cuts
  std::string first_duplicate_id;       // its message
};

/// Inspects what the manifests say; reads no audio.
class SetInspector {
 public:
  /// `tokenizer` must outlive the inspector.
  SetInspector(BatchSpec spec, const Tokenizer& tokenizer, const BucketOptions& buckets);
  void add(const Cut& cut);
  SetReport report() const;

 private:
  SpeakerReport& speaker_of(const std::string& name);
  void add_turns(const Cut& cut);
  void add_gaps(const Cut& cut);
  void add_long_text(const Cut& cut, const Supervision& turn, const std::string& role);
  void check(const Cut& cut);
  void check_id(const Cut& cut);

  BatchSpec spec_;
  const Tokenizer& tokenizer_;
  SetReport report_;
  BucketInspector buckets_;
  std::map<std::string, size_t> speaker_index_;
  std::vector<std::string> manifests_;
  struct Line {
    uint32_t manifest;
    int64_t number;
  };
  std::unordered_map<uint64_t, Line> line_of_id_;  // by hash of the id
};

using CutList = std::vector<std::shared_ptr<const Cut>>;

/// What is wrong with the audio of some cuts.
struct AudioScan {
  std::vector<AudioProblem> problems;        // in the cuts' order
  std::vector<std::optional<TurnFit>> fits;  // for each cut; nothing if a channel was not read
};

/// Loads the audio of every cut with `num_threads` threads, except of cuts longer than a day, which
/// SetInspector reports. `roles` says which speakers are the user and the agent. `progress` is
/// called by one thread at a time with the number of finished cuts.
/// Silent: no sample is above -80 dB. Clipped: at least three consecutive samples are at or beyond
/// the full scale of 16 bits. Clipping is not found in 8-bit, A-law and mu-law audio, whose scale
/// ends below that.
AudioScan scan_audio(const CutList& cuts, const DuplexDataOptions& roles, int64_t num_threads,
                     const std::function<void(int64_t)>& progress);

/// Draws a batch's token channels on the time axis: one line for each frame with a token.
std::string draw_channels(const std::vector<CutSequence>& rows, const BatchSpec& spec,
                          const Tokenizer& tokenizer);

}  // namespace s2s::data
