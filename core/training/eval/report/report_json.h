#pragma once
// Converts examples, tables and curves to the JSON that the page of the report reads.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/metrics/data_set_board.h"
#include "eval/metrics/example_measures.h"
#include "eval/report/training_curves.h"

namespace s2s {

/// An example without audio and pictures. core/training/eval/report/page/*.js reads these keys.
nlohmann::ordered_json example_json(const ReportExample& example, const ExampleMeasures& measures);

nlohmann::ordered_json table_json(const ScoreTable& table);

nlohmann::ordered_json curve_json(const Curve& curve);

/// Returns one line of predictions.jsonl. `voices`: DataSetBoard::voices_json of the example alone.
/// `files`: names of the clips that were written.
nlohmann::ordered_json prediction_json(const ReportExample& example,
                                       const ExampleMeasures& measures,
                                       const nlohmann::ordered_json& voices,
                                       const std::map<std::string, std::string>& files);

/// Returns JSON text that is safe inside an HTML script element. Invalid UTF-8 becomes U+FFFD.
std::string html_safe(const nlohmann::ordered_json& json);

}  // namespace s2s
