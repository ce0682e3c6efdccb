#pragma once
// The text that a checkpoint keeps of a source's position.

#include <cstdint>
#include <optional>
#include <string>

#include "loader/bad_cuts.h"
#include "loader/batch_order.h"

namespace s2s::data {

struct SourceState {
  int64_t batches = 0;  // of the order, that all data ranks together were given
  int64_t epoch = 0;
  int64_t data_size = 1;  // ranks for which batches were planned
  std::string order;      // the set's fingerprint
  Snapshot from;
  int64_t restarts = 0;             // that asked for another order
  std::optional<uint64_t> entropy;  // when seeds asked for it
  BadCuts::Listed left_out;
};

std::string to_text(const SourceState& state);
/// Errors: [data/state]; `path` names the data set's options.
SourceState parse_state(const std::string& text, const std::string& path);

}  // namespace s2s::data
