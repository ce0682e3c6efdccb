#pragma once
// DataSource: yields batches in an order that depends only on the seed and the data rank. Kind
// `data`.

#include <optional>
#include <string>
#include <vector>

#include "s2s/batch.h"

namespace s2s {

class DataSource {
 public:
  virtual ~DataSource();
  /// The next batch. Empty at the end of a finite source (validation), and again on each later call
  /// until `restore`.
  virtual std::optional<Batch> next() = 0;
  /// The position as a short text, equal on every data rank. After `restore` of it, the same
  /// batches follow. `restore("")` goes back to the first batch.
  virtual std::string state() const = 0;
  virtual void restore(const std::string& state) = 0;
  /// Texts of all agent turns (for a scorer's language model). May read manifests, but no audio.
  /// Default: none.
  virtual std::vector<std::string> texts() { return {}; }
  /// The bad cuts that this rank has skipped so far (where an option allows it), one line each.
  /// Counted across restores; used in the log and at the end of a run.
  virtual std::vector<std::string> left_out() const { return {}; }
};

}  // namespace s2s
