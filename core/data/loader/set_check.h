#pragma once
// Checks the first cuts of a set before training begins. The rest of a larger set is checked cut by
// cut as it is read.

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
  std::string path;  // of the data set's options, in messages
  const BatchSpec& spec;
  const Tokenizer& tokenizer;
  bool allow_no_turns = false;
  double longest_cut_s = std::numeric_limits<double>::infinity();
  bool check_files = true;
  int64_t max_bad = 0;  // bad cuts that will be left out; a larger number is an error now
  std::function<void(const std::string&)> warn;
  std::function<std::vector<BadCut>()> take_unread;  // returns cuts that the files did not give
};

/// Maximum number of cuts that are checked.
constexpr int64_t kCheckedCuts = 20000;

/// Checks the first cuts and returns their number, at most kCheckedCuts. Warns of texts that do not
/// fit their turns.
/// Errors: [data/empty], all of check_duplex_cuts, [data/kept-codes], [data/too-long],
/// [data/long-text].
int64_t check_set(const CutBatches& batches, const SetCheck& check);

}  // namespace s2s::data
