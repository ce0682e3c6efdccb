#pragma once
// What the ranks of a run say about themselves, compared.

#include <string>
#include <vector>

#include "comm/rendezvous.h"

namespace s2s {

/// facts[r]: those of rank r. A line for each fact that is not there, or not the same, everywhere:
/// "trainer.seed: 1 (ranks 0-2), 2 (rank 3)". At most twenty lines. Empty when all agree.
std::vector<std::string> fact_differences(const std::vector<std::vector<AgreedFact>>& facts);

}  // namespace s2s
