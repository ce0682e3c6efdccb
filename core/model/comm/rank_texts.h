#pragma once
// Exchanges texts between the ranks of a group, in addition to all_gather_texts
// (s2s/kinds/communicator.h). All ranks must make the same calls in the same order.

#include <string>
#include <vector>

#include "s2s/kinds/communicator.h"

namespace s2s {

/// Returns the value of every rank, in rank order, on every rank.
std::vector<int64_t> all_gather_numbers(Communicator& world, int64_t value);

/// Returns each rank's text in rank order on rank 0. Returns nothing on the other ranks.
std::vector<std::string> gather_texts(Communicator& world, const std::string& text);
/// Returns the text of rank `root`. All ranks must know its `size` in bytes.
std::string broadcast_text(Communicator& world, const std::string& text, int64_t root,
                           int64_t size);

}  // namespace s2s
