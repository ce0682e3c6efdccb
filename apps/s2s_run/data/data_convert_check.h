#pragma once
// `data convert` compares turns and speech in some of the converted cuts.

#include <cstdint>
#include <string>
#include <vector>

#include "duplex/turn_findings.h"

namespace s2s::run {

/// Result of checking the first cuts.
struct ConversionCheck {
  int64_t cuts = 0;
  double seconds = 0;  // duration of the cuts; each has two channels
  data::TurnReport turns;
  std::vector<std::string> warnings;  // findings and unreadable audio
};

/// Decodes the first cuts of `path` that have turns: the first minute of at most 20 cuts, at most
/// five minutes of dialogue in total, and at most about ten seconds of work. Runs no commands and
/// opens no URLs. `from`: the kind of source, for the advice. Unreadable audio causes a warning.
ConversionCheck check_conversion(const std::string& path, const std::string& from);

}  // namespace s2s::run
