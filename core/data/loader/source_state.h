#pragma once
// The text of a source's position in a checkpoint.

#include <cstdint>
#include <optional>
#include <string>

#include "loader/bad_cuts.h"
#include "loader/batch_order.h"

namespace s2s::data {

struct SourceState {
  int64_t batches = 0;  // number of batches that all data ranks together were given
  int64_t epoch = 0;
  int64_t data_size = 1;  // number of ranks for which batches were planned
  std::string order;      // fingerprint of the set
  Snapshot from;
  int64_t restarts = 0;             // number of restarts that asked for another order
  std::optional<uint64_t> entropy;  // if seeds use it
  BadCuts::Listed left_out;
};

std::string to_text(const SourceState& state);
/// Errors: [data/state]; `path` names the data set's options.
SourceState parse_state(const std::string& text, const std::string& path);

}  // namespace s2s::data
