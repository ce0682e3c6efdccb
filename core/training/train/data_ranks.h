#pragma once
// What the data ranks of a run tell each other beside tensors. Every rank calls the same.

#include <string>
#include <vector>

#include "s2s/training.h"

namespace s2s {

/// The texts of all data ranks, in their order, on every rank. Ranks that read the same data have
/// the same text. For messages and small reports: a text travels as one number for each character.
std::vector<std::string> texts_of_data_ranks(ParallelStrategy& strategy, const std::string& text);

/// "data rank 1: ID" for each line of each rank's text; the lines themselves in a run of one.
std::vector<std::string> named_lines(const std::vector<std::string>& texts);

}  // namespace s2s
