#pragma once
// Texts between the ranks of a group, beside all_gather_texts (s2s/kinds/communicator.h). All its
// ranks call the same, in the same order.

#include <string>
#include <vector>

#include "s2s/kinds/communicator.h"

namespace s2s {

/// One number of every rank, in the order of ranks, on every rank.
std::vector<int64_t> all_gather_numbers(Communicator& world, int64_t value);

/// Each rank's text, in the order of ranks, on rank 0; nothing elsewhere.
std::vector<std::string> gather_texts(Communicator& world, const std::string& text);
/// Rank `root`'s text, which has `size` bytes on every rank's word.
std::string broadcast_text(Communicator& world, const std::string& text, int64_t root,
                           int64_t size);

}  // namespace s2s
