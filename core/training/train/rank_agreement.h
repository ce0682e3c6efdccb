#pragma once
// How the ranks of a run decide together whether something went well.

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "s2s/error.h"
#include "s2s/kinds/communicator.h"

namespace s2s {

/// Each rank's text, in the order of ranks, on rank 0; nothing elsewhere. Null: this one alone.
std::vector<std::string> gather_texts(Communicator* world, const std::string& text);
/// Rank 0's text.
std::string share_text(Communicator* world, const std::string& text);
/// True when it is on all ranks.
bool all_ranks(Communicator* world, bool value);

/// Runs `action` on every rank. When it throws on one of them, all throw: what `describe` makes of
/// the first such rank's, with the number of the rank when there are several. All ranks call this
/// in the same order.
void agree(Communicator* world, const std::function<void()>& action,
           const std::function<Error(const std::exception&)>& describe);

}  // namespace s2s
