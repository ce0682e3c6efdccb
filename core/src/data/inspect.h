#pragma once
// What a set of duplex cuts is like: counts, histograms, texts and audio that are not right.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "s2s/cuts.h"
#include "s2s/duplex_data.h"

namespace s2s::data {

/// Counts of values in [edges[i], edges[i + 1]); the last bin has no upper edge.
struct Histogram {
  std::vector<double> edges;
  std::vector<int64_t> counts;

  explicit Histogram(std::vector<double> lower_edges);
  /// Values below the first edge count in the first bin.
  void add(double value);
};

struct SpeakerReport {
  std::string speaker;
  std::string role;  // "user", "agent" or "none"
  int64_t turns = 0;
  int64_t words = 0;
  double hours = 0;           // of their turns
  int64_t unknown_words = 0;  // written as PAD, silence: the tokenizer does not know them
};

/// One audio file, or one cut, that is not right.
struct AudioProblem {
  std::string kind;   // "unreadable", "silent", "clipped"
  std::string cut;    // "file:line: cut 'id'"
  std::string which;  // "user" or "agent"
  std::string detail;
};

struct SetReport {
  int64_t num_cuts = 0;
  double hours = 0;  // of the cuts
  std::vector<SpeakerReport> speakers;
  Histogram durations{{0, 1, 2, 3, 5, 8, 10, 15, 20, 30, 60}};
  /// Between turns of different speakers, one after the other; seconds.
  Histogram gaps{{0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2, 5}};
  Histogram overlaps{{0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2, 5}};
  TokenChannelCounts agent_text;
  TokenChannelCounts user_text;
  std::vector<std::string> unsuitable;  // findings of check_duplex_cuts, at most 20
};

/// Everything that the manifests say; reads no audio.
SetReport inspect_cuts(const std::vector<Cut>& cuts, const BatchSpec& spec,
                       const Tokenizer& tokenizer);

/// Loads the audio of every cut with `num_threads` threads. `progress` is called by one thread at a
/// time with the number of cuts that are done. The problems are in the cuts' order.
/// Silent: no sample above -80 dB. Clipped: at least three samples at full scale, one after
/// another.
std::vector<AudioProblem> scan_audio(const std::vector<Cut>& cuts, int64_t num_threads,
                                     const std::function<void(int64_t)>& progress);

/// A batch's token channels on the time axis: one line for each frame where something is written.
std::string draw_channels(const std::vector<CutSequence>& rows, const BatchSpec& spec,
                          const Tokenizer& tokenizer);

}  // namespace s2s::data
