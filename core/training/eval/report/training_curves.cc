#include "eval/report/training_curves.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/appended_lines.h"
#include "base/foreign_json.h"
#include "base/io_errors.h"
#include "train/train_errors.h"

namespace s2s {

namespace {

using CurveKey = std::pair<std::string, std::string>;  // validation, name

/// The points of a curve in bounded memory: beyond kMost points, neighbors become their sum.
class Points {
 public:
  void add(int64_t step, double value) {
    if (per_sum_ == 1) return add_point(step, value);
    if (step < sums_.back().step) return;  // cannot be taken out of a sum
    Sum& last = sums_.back();
    if (step == last.step) {
      last.sum += value - last_value_;
    } else if (last.count < per_sum_) {
      last = {step, last.sum + value, last.count + 1};
    } else {
      sums_.push_back({step, value, 1});
    }
    last_value_ = value;
    if (sums_.size() == kMost) join_neighbors();
  }

  /// At most max_points averages of equally many points.
  Curve averages(const CurveKey& key, size_t max_points) const {
    size_t num_points = 0;
    for (const Sum& sum : sums_) num_points += sum.count;
    const size_t stride = (num_points + max_points - 1) / max_points;
    Curve curve{key.second, key.first, {}, {}};
    Sum open;
    for (size_t i = 0; i < sums_.size(); ++i) {
      open = {sums_[i].step, open.sum + sums_[i].sum, open.count + sums_[i].count};
      if (open.count < stride && i + 1 < sums_.size()) continue;
      curve.steps.push_back(open.step);
      curve.values.push_back(open.sum / static_cast<double>(open.count));
      open = {};
    }
    return curve;
  }

 private:
  struct Sum {
    int64_t step = 0;  // the last one
    double sum = 0;
    size_t count = 0;
  };
  static constexpr size_t kMost = size_t{1} << 14U;

  void add_point(int64_t step, double value) {
    const auto at =
        std::lower_bound(sums_.begin(), sums_.end(), step,
                         [](const Sum& sum, int64_t before) { return sum.step < before; });
    if (at != sums_.end() && at->step == step) {
      at->sum = value;
    } else {
      sums_.insert(at, {step, value, 1});
    }
    last_value_ = sums_.back().sum;
    if (sums_.size() == kMost) join_neighbors();
  }

  void join_neighbors() {
    for (size_t i = 0; i < sums_.size() / 2; ++i) {
      const Sum &first = sums_[2 * i], &second = sums_[2 * i + 1];
      sums_[i] = {second.step, first.sum + second.sum, first.count + second.count};
    }
    sums_.resize(sums_.size() / 2);
    per_sum_ *= 2;
  }

  std::vector<Sum> sums_;
  size_t per_sum_ = 1;
  double last_value_ = 0;
};

void add_line(const nlohmann::json& line, std::map<CurveKey, Points>& all) {
  const auto step = line.find("step");
  if (step == line.end() || !step->is_number()) return;
  const auto validation = line.find("validation");
  const bool named = validation != line.end() && validation->is_string();
  const std::string data_set = named ? validation->get<std::string>() : "";
  for (const auto& [name, value] : line.items()) {
    if (name == "step" || !value.is_number()) continue;
    const auto number = value.get<double>();
    if (std::isfinite(number)) all[{data_set, name}].add(step->get<int64_t>(), number);
  }
}

std::map<CurveKey, Points> read_points(const std::string& path) {
  std::map<CurveKey, Points> all;
  AppendedLines file(path);
  int64_t number = 0;
  while (const auto line = file.next()) {
    ++number;
    if (line->text.empty()) continue;
    try {
      const auto json = parse_foreign_json(line->text);
      if (!json.is_object()) throw metrics_line_error(path, number, "another JSON value");
      add_line(json, all);
    } catch (const nlohmann::json::exception& error) {
      if (line->end == file.size()) break;
      throw metrics_line_error(path, number, error.what());
    }
  }
  return all;
}

}  // namespace

std::vector<Curve> read_curves(const std::string& path, size_t max_points) {
  if (!std::filesystem::is_regular_file(path)) return {};
  std::vector<Curve> curves;
  try {
    for (const auto& [key, points] : read_points(path)) {
      curves.push_back(points.averages(key, max_points));
    }
  } catch (const std::system_error& error) {
    throw read_error(path, error.code().value());
  }
  return curves;
}

}  // namespace s2s
