#pragma once
// What the report's page reads: examples, tables and curves as JSON.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/metrics/data_set_board.h"
#include "eval/metrics/example_measures.h"
#include "eval/report/training_curves.h"

namespace s2s {

/// Without audio and pictures. The keys are those that core/training/eval/report/page/*.js read.
nlohmann::ordered_json example_json(const ReportExample& example, const ExampleMeasures& measures);

nlohmann::ordered_json table_json(const ScoreTable& table);

nlohmann::ordered_json curve_json(const Curve& curve);

/// One line of predictions.jsonl. `files`: names of the clips that were written.
nlohmann::ordered_json prediction_json(const ReportExample& example,
                                       const ExampleMeasures& measures,
                                       const std::map<std::string, std::string>& files);

/// JSON text that may stand inside an HTML script element; broken UTF-8 becomes U+FFFD.
std::string html_safe(const nlohmann::ordered_json& json);

}  // namespace s2s
