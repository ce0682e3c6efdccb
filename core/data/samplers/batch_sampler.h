#pragma once
// BatchSampler: a stream's items in batches. One global order of batches: of D data ranks, rank r
// takes every D-th batch from r.

#include <memory>
#include <optional>
#include <vector>

#include "streams/cut_stream.h"

namespace s2s::data {

struct SampledBatch {
  std::vector<CutItem> items;
  int64_t bucket = -1;  // -1: no buckets
};

struct SamplerCounts {  // of the current pass (lhotse's diagnostics)
  int64_t kept_cuts = 0, discarded_cuts = 0, kept_batches = 0, discarded_batches = 0;
};

class BatchSampler {
 public:
  virtual ~BatchSampler() = default;
  /// The next batch of the global order; nothing at the end of the pass.
  virtual std::optional<SampledBatch> next() = 0;
  /// Begins pass `epoch` (its RNG seed is seed + epoch, as lhotse's set_epoch does).
  virtual void rewind(int64_t epoch) = 0;
  virtual StreamState state() const = 0;
  virtual void restore(const StreamState& state) = 0;
  virtual std::shared_ptr<const Cut> make(CutKeyView token) const = 0;
  virtual uint64_t fingerprint() const = 0;
  virtual SamplerCounts counts() const = 0;
};

}  // namespace s2s::data
