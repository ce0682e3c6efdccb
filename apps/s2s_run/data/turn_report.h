#pragma once
// What was found between turns and sound, as JSON.

#include <nlohmann/json_fwd.hpp>

#include "duplex/turn_findings.h"

namespace s2s::run {

/// {"cuts_judged", "cuts_that_fit", "findings": [{"kind", "which", "cuts", "cuts_judged",
/// "seconds", "examples", "text", "advice"}]}.
nlohmann::ordered_json turn_report_json(const data::TurnReport& report);

}  // namespace s2s::run
