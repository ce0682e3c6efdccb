#pragma once
// Interface for rows and batches of models other than the duplex model, made from the same sets.

#include <memory>
#include <vector>

#include "s2s/batch.h"
#include "s2s/data/audio_loader.h"
#include "s2s/data/cuts.h"

namespace s2s::data {

/// A loaded row. Only the RowKind that made it knows its type.
class RowContent {
 public:
  virtual ~RowContent() = default;
};

/// Converts the cuts of a batch to rows and batches. Thread-safe.
class RowKind {
 public:
  virtual ~RowKind() = default;
  /// Errors: those of the cut, with the exit code of data errors.
  virtual std::unique_ptr<RowContent> load(const Cut& cut, AudioLoader& audio) const = 0;
  /// Makes a batch of at least one row; `load` made each of them.
  virtual Batch collate(const std::vector<const RowContent*>& rows) const = 0;
  /// A batch of the first row of `batch`, without its padding.
  virtual Batch first_row(const Batch& batch) const = 0;
};

}  // namespace s2s::data
