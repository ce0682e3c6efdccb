#pragma once
// Rows and batches of other models than the duplex model, made from the same sets of cuts.

#include <memory>
#include <vector>

#include "s2s/batch.h"
#include "s2s/data/audio_loader.h"
#include "s2s/data/cuts.h"

namespace s2s::data {

/// A loaded row; the kind that made it knows what it is.
class RowContent {
 public:
  virtual ~RowContent() = default;
};

/// What a source makes of the cuts of a batch. Thread-safe.
class RowKind {
 public:
  virtual ~RowKind() = default;
  /// Errors: those of the cut, with the exit code of data.
  virtual std::unique_ptr<RowContent> load(const Cut& cut, AudioLoader& audio) const = 0;
  /// At least one row, each made by `load`.
  virtual Batch collate(const std::vector<const RowContent*>& rows) const = 0;
  /// A batch of the first row of `batch`, without its padding.
  virtual Batch first_row(const Batch& batch) const = 0;
};

}  // namespace s2s::data
