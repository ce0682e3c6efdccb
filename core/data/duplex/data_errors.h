#pragma once
// Cuts that do not suit a duplex model. Ids are listed in core/docs/reference/errors.md.

#include <string>
#include <vector>

#include "s2s/data/cuts.h"
#include "s2s/error.h"

namespace s2s::data_errors {

Error no_turns(const Cut& cut, const std::vector<std::string>& speakers,
               const std::vector<std::string>& roles);
Error no_text(const Cut& cut, const Supervision& turn);
Error no_alignment(const Cut& cut, const Supervision& turn, const std::string& option);

}  // namespace s2s::data_errors
