#pragma once
// What is looked at before the first batch: the first cuts of a set. Larger sets are checked cut by
// cut as they are read.

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "loader/cut_batches.h"
#include "loader/row_loader.h"
#include "s2s/data/duplex_data.h"

namespace s2s::data {

struct SetCheck {
  std::string path;  // of the data set's options
  const BatchSpec& spec;
  const Tokenizer& tokenizer;
  bool allow_no_turns = false;
  double longest_cut_s = std::numeric_limits<double>::infinity();
  bool check_files = true;
  int64_t max_bad = 0;  // left out later; more of them are an error now
  std::function<void(const std::string&)> warn;
  std::function<std::vector<BadCut>()> take_unread;  // cuts that the files did not give
};

/// Cuts that are looked at.
constexpr int64_t kCheckedCuts = 20000;

/// Returns the number of cuts that were looked at; kCheckedCuts may not be all.
/// Errors: [data/empty], all of check_duplex_cuts, [data/too-long], [data/long-text]; warns of text
/// that does not fit.
int64_t check_set(const CutBatches& batches, const SetCheck& check);

}  // namespace s2s::data
