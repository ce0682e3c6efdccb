#pragma once
// DataSource: batches in an order that depends on seed and data rank only. Kind `data`.

#include <optional>
#include <string>
#include <vector>

#include "s2s/batch.h"

namespace s2s {

class DataSource {
 public:
  virtual ~DataSource();
  /// The next batch; nothing at the end of a finite source (validation), and again nothing until
  /// `restore`.
  virtual std::optional<Batch> next() = 0;
  /// Position as a short text, the same on every data rank; `restore` of it makes the following
  /// batches identical. `restore("")` goes back to the first batch.
  virtual std::string state() const = 0;
  virtual void restore(const std::string& state) = 0;
  /// Texts of all agent turns (for a scorer's language model); may read manifests, not audio.
  /// Here: none are known.
  virtual std::vector<std::string> texts() { return {}; }
  /// What this rank left out of its batches until now, a line each (bad cuts, where an option
  /// allows it): counted across restores, for the log and the end of a run.
  virtual std::vector<std::string> left_out() const { return {}; }
};

}  // namespace s2s
