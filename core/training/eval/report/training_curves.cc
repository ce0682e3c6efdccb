#include "eval/report/training_curves.h"

#include <filesystem>
#include <fstream>
#include <map>

#include "base/foreign_json.h"
#include "train/train_errors.h"

namespace s2s {

namespace {

using CurveKey = std::pair<std::string, std::string>;  // validation, name
using Points = std::map<int64_t, double>;              // by step

void add_line(const nlohmann::json& line, std::map<CurveKey, Points>& all) {
  const auto step = line.find("step");
  if (step == line.end() || !step->is_number()) return;
  const auto validation = line.find("validation");
  const bool named = validation != line.end() && validation->is_string();
  const std::string data_set = named ? validation->get<std::string>() : "";
  for (const auto& [name, value] : line.items()) {
    if (name == "step" || !value.is_number()) continue;
    const auto number = value.get<double>();
    if (std::isfinite(number)) all[{data_set, name}][step->get<int64_t>()] = number;
  }
}

Curve thin_out(const CurveKey& key, const Points& points, size_t max_points) {
  Curve curve{key.second, key.first, {}, {}};
  const size_t stride = (points.size() + max_points - 1) / max_points;
  double sum = 0;
  size_t count = 0;
  for (auto point = points.begin(); point != points.end(); ++point) {
    sum += point->second;
    ++count;
    if (count < stride && std::next(point) != points.end()) continue;
    curve.steps.push_back(point->first);
    curve.values.push_back(sum / static_cast<double>(count));
    sum = 0;
    count = 0;
  }
  return curve;
}

}  // namespace

std::vector<Curve> read_curves(const std::string& path, size_t max_points) {
  std::map<CurveKey, Points> all;
  if (!std::filesystem::is_regular_file(path)) return {};
  std::ifstream file(path);
  int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty()) continue;
    try {
      const auto json = parse_foreign_json(line);
      if (!json.is_object()) throw metrics_line_error(path, number, "another JSON value");
      add_line(json, all);
    } catch (const nlohmann::json::exception& error) {
      if (file.peek() == std::ifstream::traits_type::eof()) break;
      throw metrics_line_error(path, number, error.what());
    }
  }
  std::vector<Curve> curves;
  for (const auto& [key, points] : all) curves.push_back(thin_out(key, points, max_points));
  return curves;
}

}  // namespace s2s
