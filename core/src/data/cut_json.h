#pragma once
// One line of a cuts manifest -> Cut.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "s2s/cuts.h"

namespace s2s::data {

/// What a manifest contains that is accepted although Lhotse would not write it.
struct Leniencies {
  int64_t recordings_with_path = 0;  // `path` in place of `sources`
  int64_t cuts_without_type = 0;
};

/// `line_text` is line `line` of `manifest`. Errors: as `read_cuts`, the first of the line.
Cut parse_cut(const std::string& line_text, const std::string& manifest, int64_t line,
              Leniencies& leniencies);

}  // namespace s2s::data
