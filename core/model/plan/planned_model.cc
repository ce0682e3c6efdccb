#include "plan/planned_model.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/number_text.h"
#include "base/path_pattern.h"
#include "plan/plan_errors.h"

namespace s2s {
namespace {

int64_t product(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

/// Returns `path` and all its ancestors, innermost first.
std::vector<std::string> with_ancestors(const std::string& path) {
  std::vector<std::string> all = {path};
  std::string here = path;
  while (!here.empty()) {
    const size_t dot = here.rfind('.');
    here = dot == std::string::npos ? "" : here.substr(0, dot);
    all.push_back(here);
  }
  return all;
}

bool row_owns(const TensorRow& row, const std::string& module) {
  if (!owns_weight(row.style)) return false;
  if (path_matches(row.module, module)) return true;
  if (!owns_subtree(row.style)) return false;
  const std::vector<std::string> above = with_ancestors(module);
  return std::any_of(above.begin(), above.end(), [&](const std::string& ancestor) {
    return path_matches(row.module, ancestor);
  });
}

/// The sizes on one of `parts` ranks. Each of the `groups` equal parts of dim 0 is split.
std::vector<int64_t> split_sizes(std::vector<int64_t> sizes, int dim, int64_t parts,
                                 int64_t groups) {
  if (dim >= 0 && static_cast<size_t>(dim) < sizes.size()) {
    int64_t& size = sizes[static_cast<size_t>(dim)];
    const int64_t piece = dim == 0 ? size / groups : size;
    size = (piece + parts - 1) / parts * (size / std::max<int64_t>(1, piece));
  }
  return sizes;
}

/// Applies the row's split over the tensor axis to a parameter.
void place(PlannedParameter& parameter, const std::string& own_name, const ShardPlan& plan,
           const MeshShape& mesh) {
  const TensorRow& row = plan.rows[parameter.rows.front()];
  parameter.copies = plan.copies(row, mesh);
  parameter.tensor_sizes =
      split_sizes(parameter.sizes, split_dim(row.style, own_name), mesh.tensor / parameter.copies,
                  stacked_parts(plan, parameter.module));
}

std::string innermost_unit(const std::set<std::string>& units, const std::string& module) {
  for (const std::string& path : with_ancestors(module)) {
    if (units.count(path) != 0) return path;
  }
  return "";
}

/// Returns the parameters that the block itself registered, including those of spliced children.
std::vector<NamedTensor> direct_parameters(Block& block) {
  std::set<std::string> below;
  block.for_each_block([&](const std::string& path, Block&) { below.insert(path); });
  below.erase("");
  std::vector<NamedTensor> direct;
  for (NamedTensor& parameter : block.named_parameters()) {
    const std::vector<std::string> above = with_ancestors(parameter.name);
    const bool is_below = std::any_of(above.begin(), above.end(), [&](const std::string& path) {
      return below.count(path) != 0;
    });
    if (!is_below) direct.push_back(std::move(parameter));
  }
  return direct;
}

}  // namespace

int64_t PlannedParameter::numel() const { return product(sizes); }
int64_t PlannedParameter::tensor_numel() const { return product(tensor_sizes); }

int split_dim(Style style, const std::string& parameter_name) {
  if (style == Style::kColwise || style == Style::kVocab) return 0;
  if (style != Style::kRowwise) return -1;
  const bool is_bias = parameter_name.size() >= 4 &&
                       parameter_name.compare(parameter_name.size() - 4, 4, "bias") == 0;
  return is_bias ? -1 : 1;
}

int64_t stacked_parts(const ShardPlan& plan, const std::string& module) {
  for (const HeadRow& head : plan.heads) {
    if (path_matches(head.module, module)) return std::max<int64_t>(1, head.groups);
  }
  for (const TensorRow& row : plan.rows) {
    if (row.stacked > 1 && path_matches(row.module, module)) return row.stacked;
  }
  return 1;
}

int64_t holders_of_partial_gradient(const PlannedParameter& parameter, const ShardPlan& plan,
                                    const MeshShape& mesh) {
  if (parameter.rows.empty()) return 1;
  const TensorRow& row = plan.rows[parameter.rows.front()];
  const bool is_whole_bias =
      row.style == Style::kRowwise && split_dim(row.style, parameter.name) < 0;
  const bool sees_part_of_positions =
      row.style == Style::kSequence || (is_whole_bias && row.out == Layout::kSeq);
  if (row.style == Style::kPerHead || (sees_part_of_positions && mesh.sequence_parallel)) {
    return mesh.tensor;
  }
  return parameter.copies;
}

bool owns_subtree(Style style) { return style == Style::kReplicate || style == Style::kCustom; }
bool owns_weight(Style style) { return style != Style::kBoundary; }

PlannedModel plan_model(Block& model, const ShardPlan& plan, const MeshShape& mesh) {
  PlannedModel planned;
  std::set<std::string> units;
  model.for_each_block([&](const std::string& path, Block&) {
    planned.modules.push_back(path);
    const bool is_unit = std::any_of(plan.units.begin(), plan.units.end(), [&](const UnitRow& u) {
      return path_matches(u.module, path);
    });
    if (is_unit) units.insert(path);
  });
  model.for_each_block([&](const std::string& path, Block& block) {
    for (NamedTensor& direct : direct_parameters(block)) {
      PlannedParameter parameter{path,
                                 path.empty() ? direct.name : path + "." + direct.name,
                                 direct.tensor,
                                 direct.sizes,
                                 direct.sizes,
                                 {},
                                 innermost_unit(units, path)};
      for (size_t i = 0; i < plan.rows.size(); ++i) {
        if (row_owns(plan.rows[i], path)) parameter.rows.push_back(i);
      }
      // Of a block whose names have dots without blocks below it. It needs no row.
      if (parameter.rows.empty() && direct.name.find('.') != std::string::npos) continue;
      if (!parameter.rows.empty()) place(parameter, direct.name, plan, mesh);
      planned.parameters.push_back(std::move(parameter));
    }
  });
  return planned;
}

namespace {

bool is_number(const std::string& segment) {
  return !segment.empty() && std::all_of(segment.begin(), segment.end(),
                                         [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string numbers_text(const std::set<int64_t>& numbers) {
  const int64_t first = *numbers.begin();
  const int64_t last = *numbers.rbegin();
  if (first == last) return std::to_string(first);
  if (last - first + 1 == static_cast<int64_t>(numbers.size())) {
    return std::to_string(first) + ".." + std::to_string(last);
  }
  std::string text;
  for (const int64_t n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return "{" + text + "}";
}

}  // namespace

std::vector<std::string> collapse_numbers(const std::vector<std::string>& names) {
  std::map<std::pair<std::string, std::string>, std::set<int64_t>>
      groups;  // before, after -> numbers
  std::vector<std::string> collapsed;
  for (const std::string& name : names) {
    std::string before;
    std::vector<std::string> segments = split_path(name);
    size_t i = 0;
    for (; i < segments.size() && !is_number(segments[i]); ++i) before += segments[i] + ".";
    if (i == segments.size()) {
      collapsed.push_back(name);
      continue;
    }
    std::string after;
    for (size_t j = i + 1; j < segments.size(); ++j) after += "." + segments[j];
    groups[{before, after}].insert(std::stoll(segments[i]));
  }
  for (const auto& [ends, numbers] : groups) {
    collapsed.push_back(ends.first + numbers_text(numbers) + ends.second);
  }
  std::sort(collapsed.begin(), collapsed.end());
  return collapsed;
}

MeshShape parse_mesh(const std::string& text) {
  MeshShape mesh;
  const std::map<std::string, int64_t*> axes = {
      {"pipeline", &mesh.pipeline}, {"replicate", &mesh.replicate}, {"shard", &mesh.shard},
      {"data", &mesh.shard},        {"context", &mesh.context},     {"tensor", &mesh.tensor}};
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, comma - begin);
    begin = comma + 1;
    const size_t equals = item.find('=');
    const auto axis = axes.find(item.substr(0, equals));
    if (equals == std::string::npos || axis == axes.end()) {
      throw plan_errors::mesh_text(text, "'" + item + "' is not an axis and its size");
    }
    const std::string number = item.substr(equals + 1);
    *axis->second = read_number<int64_t>(number).value_or(0);
    if (*axis->second < 1) {
      throw plan_errors::mesh_text(text, "'" + number + "' is not a size of at least 1");
    }
  }
  require_possible_size(mesh);
  return mesh;
}

void require_possible_size(const MeshShape& mesh) {
  constexpr int64_t kMostRanks = int64_t{1} << 20;
  double num_ranks = 1;  // a double, because int64_t could overflow
  for (const int64_t axis :
       {mesh.pipeline, mesh.replicate, mesh.shard, mesh.context, mesh.tensor}) {
    num_ranks *= static_cast<double>(axis);
  }
  if (num_ranks > kMostRanks) throw plan_errors::mesh_size(num_ranks, kMostRanks);
}

}  // namespace s2s
