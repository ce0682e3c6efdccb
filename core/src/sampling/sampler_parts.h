#pragma once
// What samplers of streams have in common.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sampling/samplers.h"
#include "stream/python_random.h"
#include "stream/stream_parts.h"

namespace s2s::data {

/// A waiting cut and what a sampler needs to know of it.
struct SizedItem {
  CutItem item;
  CutSize size;
};

/// Waiting cuts as short text, and back (tokens and sizes, no cuts).   Errors: [data/position].
std::string packed_items(const std::deque<SizedItem>& items);
std::deque<SizedItem> unpacked_items(const std::string& text);

StreamState counts_state(const SamplerCounts& counts);
SamplerCounts restored_counts(const StreamState& state);

/// What the fingerprint has of the options.
std::string description(const SamplerOptions& options);

/// The cuts of a stream that pass the filter, measured; counts what does not pass.
class SizedStream {
 public:
  SizedStream(std::shared_ptr<CutStream> source, const SamplerOptions& options);
  std::optional<SizedItem> next(SamplerCounts& counts);
  /// Also of those that do not pass.
  std::optional<SizedItem> next_of_all();
  bool passes(const CutItem& item) const { return !filter_ || filter_(*cut_of(item, *source_)); }
  CutSize measured(const Cut& cut) const;
  CutStream& stream() { return *source_; }
  const CutStream& stream() const { return *source_; }
  void rewind(int64_t epoch) { source_->rewind(epoch + passes_before_); }

 private:
  SizedItem sized(CutItem item) const;
  std::shared_ptr<CutStream> source_;
  CutMeasure measure_;
  CutTest filter_;
  int64_t passes_before_;
  bool keep_cuts_;
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

}  // namespace s2s::data
