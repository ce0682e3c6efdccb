#include "s2s_run/data/turn_report.h"

#include <nlohmann/json.hpp>

namespace s2s::run {

nlohmann::ordered_json turn_report_json(const data::TurnReport& report) {
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const data::TurnFinding& finding : report.findings) {
    findings.push_back({{"kind", finding.kind},
                        {"which", finding.which},
                        {"cuts", finding.cuts},
                        {"cuts_judged", finding.cuts_judged},
                        {"seconds", finding.seconds},
                        {"examples", finding.examples},
                        {"text", finding.text},
                        {"advice", finding.advice}});
  }
  return {{"cuts_judged", report.cuts_judged},
          {"cuts_that_fit", report.cuts_that_fit},
          {"findings", std::move(findings)}};
}

}  // namespace s2s::run
