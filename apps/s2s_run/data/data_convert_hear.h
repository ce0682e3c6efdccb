#pragma once
// `data convert` listens to some of what it wrote: do turns and speech agree?

#include <cstdint>
#include <string>
#include <vector>

#include "duplex/turn_findings.h"

namespace s2s::run {

/// What was heard of the first cuts.
struct HeardConversion {
  int64_t cuts = 0;
  double seconds = 0;  // of the cuts; each has two channels
  data::TurnReport turns;
  std::vector<std::string> warnings;  // findings, and audio that cannot be read
};

/// Decodes the first cuts of `path` that have turns: 20 cuts, of each its first minute, together
/// five minutes of dialogue, and no further cut after ten seconds of work. Runs no commands and
/// opens no URLs. `from`: the kind of source, for the advice. What cannot be read is a warning.
HeardConversion hear_conversion(const std::string& path, const std::string& from);

}  // namespace s2s::run
