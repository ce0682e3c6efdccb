#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "compare/compare.h"

namespace s2s {

std::string format_differences(const ReferenceFile& reference,
                               const std::vector<TensorDifference>& rows) {
  size_t width = 6;
  size_t shape_width = 5;
  for (const TensorDifference& row : rows) {
    width = std::max(width, row.name.size());
    shape_width = std::max(shape_width, row.shape.size());
  }
  std::string text = fmt::format("{:<{}}  {:<{}}  {:>10}  {:>10}  {:>9}  result\n", "tensor", width,
                                 "shape", shape_width, "absolute", "relative", "tolerance");
  size_t passed = 0;
  double worst = 0;
  for (const TensorDifference& row : rows) {
    passed += row.pass ? 1 : 0;
    worst = std::max(worst, row.share_of_tolerance);
    text += fmt::format("{:<{}}  {:<{}}  {:>10.2e}  {:>10.2e}  {:>8.1f}%  {}{}\n", row.name, width,
                        row.shape, shape_width, row.largest_absolute, row.largest_relative,
                        100 * row.share_of_tolerance, row.pass ? "pass" : "FAIL",
                        row.note.empty() ? "" : " (" + row.note + ")");
  }
  return text + fmt::format(
                    "{}:{}  {} of {} tensors pass (rtol {:g}, atol {:g}); the worst uses "
                    "{:.1f}% of its tolerance\n",
                    reference.kind, reference.name, passed, rows.size(), reference.rtol,
                    reference.atol, 100 * worst);
}

std::string differences_json(const ReferenceFile& reference,
                             const std::vector<TensorDifference>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  bool all_pass = !rows.empty();
  for (const TensorDifference& row : rows) {
    all_pass = all_pass && row.pass;
    nlohmann::ordered_json item = {{"name", row.name},
                                   {"shape", row.shape},
                                   {"compared", row.compared},
                                   {"largest_absolute", row.largest_absolute},
                                   {"largest_relative", row.largest_relative},
                                   {"root_mean_square", row.root_mean_square},
                                   {"share_of_tolerance", row.share_of_tolerance},
                                   {"pass", row.pass}};
    if (!std::isfinite(row.share_of_tolerance)) item["share_of_tolerance"] = nullptr;
    if (!row.note.empty()) item["note"] = row.note;
    list.push_back(std::move(item));
  }
  const nlohmann::ordered_json root = {{"kind", reference.kind}, {"name", reference.name},
                                       {"rtol", reference.rtol}, {"atol", reference.atol},
                                       {"pass", all_pass},       {"tensors", std::move(list)}};
  return root.dump(2) + "\n";
}

}  // namespace s2s
