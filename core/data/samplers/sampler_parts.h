#pragma once
// Functions and classes that several samplers share.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "samplers/samplers.h"
#include "streams/python_random.h"
#include "streams/stream_parts.h"

namespace s2s::data {

/// A waiting cut and its size.
struct SizedItem {
  CutItem item;
  CutSize size;
};

/// Stores waiting cuts as short text (keys and sizes), and reads them back without cuts.
/// Errors: [data/position].
std::string packed_items(const std::deque<SizedItem>& items);
std::deque<SizedItem> unpacked_items(const std::string& text);

StreamState counts_state(const SamplerCounts& counts);
SamplerCounts restored_counts(const StreamState& state);

/// The options as text, for the fingerprint.
std::string description(const SamplerOptions& options);

/// A stream whose cuts are measured.
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

/// Warns once if a single cut exceeds the limits of a batch.
class LongCutWarning {
 public:
  explicit LongCutWarning(std::function<void(const std::string&)> warn) : warn_(std::move(warn)) {}
  void about(const SizedItem& item, const CutStream& stream);

 private:
  std::function<void(const std::string&)> warn_;
  bool has_warned_ = false;
};

/// Adds up the cuts of one batch.   Source: lhotse dataset/sampling/base.py TimeConstraint.
class BatchCount {
 public:
  explicit BatchCount(const BatchLimits& limits) : limits_(&limits) {}
  void add(double length);
  bool exceeded() const;
  /// Whether one more cut of the maximum length would exceed the limits.
  bool close_to_exceeding() const;
  int64_t num_cuts() const { return num_cuts_; }

 private:
  const BatchLimits* limits_;
  int64_t num_cuts_ = 0;
  double longest_ = 0;
};

/// Errors: [data/batch-limits] when there is no limit, or when a limit is not above 0.
void check_limits(const BatchLimits& limits);
/// The limits as text, for the fingerprint.
std::string description(const BatchLimits& limits);

}  // namespace s2s::data
