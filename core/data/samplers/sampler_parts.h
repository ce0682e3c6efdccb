#pragma once
// What samplers of streams have in common.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "samplers/samplers.h"
#include "streams/python_random.h"
#include "streams/stream_parts.h"

namespace s2s::data {

/// A waiting cut and what a sampler needs to know of it.
struct SizedItem {
  CutItem item;
  CutSize size;
};

/// Waiting cuts as short text, and back (keys and sizes, no cuts).   Errors: [data/position].
std::string packed_items(const std::deque<SizedItem>& items);
std::deque<SizedItem> unpacked_items(const std::string& text);

StreamState counts_state(const SamplerCounts& counts);
SamplerCounts restored_counts(const StreamState& state);

/// What the fingerprint has of the options.
std::string description(const SamplerOptions& options);

/// The cuts of a stream, measured.
class SizedStream {
 public:
  SizedStream(StreamPtr source, const SamplerOptions& options);
  std::optional<SizedItem> next();
  CutSize measured(const Cut& cut) const;
  CutStream& stream() { return *source_; }
  const CutStream& stream() const { return *source_; }

 private:
  StreamPtr source_;
  CutMeasure measure_;
};

/// Warns once of a batch that a single cut exceeds.
class LongCutWarning {
 public:
  explicit LongCutWarning(std::function<void(const std::string&)> warn) : warn_(std::move(warn)) {}
  void about(const SizedItem& item, const CutStream& stream);

 private:
  std::function<void(const std::string&)> warn_;
  bool has_warned_ = false;
};

/// Counts the cuts of one batch.   Source: lhotse dataset/sampling/base.py TimeConstraint.
class BatchCount {
 public:
  explicit BatchCount(const BatchLimits& limits) : limits_(&limits) {}
  void add(double length);
  bool exceeded() const;
  /// One more cut as long as the longest would be too much.
  bool close_to_exceeding() const;
  int64_t num_cuts() const { return num_cuts_; }

 private:
  const BatchLimits* limits_;
  int64_t num_cuts_ = 0;
  double longest_ = 0;
};

/// Errors: [data/batch-limits] when nothing is limited, or by something that is not above 0.
void check_limits(const BatchLimits& limits);
/// What the fingerprint has of it.
std::string description(const BatchLimits& limits);

}  // namespace s2s::data
