#include "plan/plan_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/path_pattern.h"
#include "plan/plan_errors.h"
#include "plan/planned_model.h"

namespace s2s {
namespace {

std::string row_text(const TensorRow& row) {
  return "'" + row.module + "' (" + to_string(row.style) + ")";
}

/// Returns the paths with numbers replaced by `*`, as in patterns.
std::vector<std::string> pattern_candidates(const std::vector<std::string>& modules) {
  std::set<std::string> candidates;
  for (const std::string& module : modules) {
    std::string pattern;
    for (const std::string& segment : split_path(module)) {
      const bool is_number = segment.find_first_not_of("0123456789") == std::string::npos;
      pattern += (pattern.empty() ? "" : ".") + (is_number ? "*" : segment);
    }
    candidates.insert(pattern);
    candidates.insert(module);
  }
  return {candidates.begin(), candidates.end()};
}

class PlanCheck {
 public:
  PlanCheck(Block& model, const ShardPlan& plan, const PlanCheckInputs& inputs)
      : plan_(plan), inputs_(inputs), planned_(plan_model(model, plan, inputs.mesh)) {}

  Findings run() {
    check_matches();    // V1
    check_ownership();  // V2
    check_splits();     // V3
    check_divisors();   // V4
    check_units();      // V5
    check_tied();       // V6
    check_mesh();       // V7
    return std::move(findings_);
  }

 private:
  bool matches_any(const std::string& pattern) const {
    return std::any_of(planned_.modules.begin(), planned_.modules.end(),
                       [&](const std::string& module) { return path_matches(pattern, module); });
  }

  void check_matches() {
    const std::vector<std::string> candidates = pattern_candidates(planned_.modules);
    for (const TensorRow& row : plan_.rows) {
      if (matches_any(row.module)) continue;
      findings_.add(
          plan_errors::no_match("row " + row_text(row), nearest_name(row.module, candidates)));
    }
    const auto need = [&](const std::string& what, const std::string& module) {
      if (matches_any(module)) return;
      findings_.add(
          plan_errors::no_match(what + " '" + module + "'", nearest_name(module, candidates)));
    };
    for (const UnitRow& unit : plan_.units) need("unit", unit.module);
    for (const HeadRow& head : plan_.heads) need("head", head.module);
    for (const AttentionRow& attention : plan_.attentions) need("attention", attention.module);
  }

  void check_ownership() {
    std::vector<std::string> uncovered;
    std::map<std::vector<size_t>, std::vector<std::string>> shared;
    for (const PlannedParameter& parameter : planned_.parameters) {
      if (parameter.rows.empty()) uncovered.push_back(parameter.name);
      if (parameter.rows.size() > 1) shared[parameter.rows].push_back(parameter.name);
    }
    for (const std::string& names : collapse_numbers(uncovered)) {
      findings_.add(plan_errors::uncovered(names));
    }
    for (const auto& [rows, parameters] : shared) {
      std::vector<std::string> owners;
      for (const size_t row : rows) owners.push_back(row_text(plan_.rows[row]));
      for (const std::string& names : collapse_numbers(parameters)) {
        findings_.add(plan_errors::two_rows(names, owners));
      }
    }
  }

  /// Vocabulary dims need not be divisible: sizes are rounded up. The last ranks may have fewer
  /// rows.
  void check_splits() {
    std::map<std::tuple<int, int64_t, int64_t>, std::vector<std::string>> bad;
    for (const PlannedParameter& parameter : planned_.parameters) {
      if (parameter.rows.empty()) continue;
      const TensorRow& row = plan_.rows[parameter.rows.front()];
      const int dim = split_dim(row.style, parameter.name);
      if (dim < 0 || row.style == Style::kVocab) continue;
      const bool has_dim = static_cast<size_t>(dim) < parameter.sizes.size();
      const int64_t all = has_dim ? parameter.sizes[static_cast<size_t>(dim)] : 1;
      const int64_t size = dim == 0 ? all / row.stacked : all;
      const int64_t parts = inputs_.mesh.tensor / parameter.copies;
      if (size % parts != 0) bad[{dim, size, parts}].push_back(parameter.name);
    }
    for (const auto& [split, parameters] : bad) {
      const auto& [dim, size, parts] = split;
      for (const std::string& names : collapse_numbers(parameters)) {
        findings_.add(plan_errors::indivisible_dim(names, dim, size, parts));
      }
    }
  }

  /// Returns whether rows may be replicated when the axis is larger than the number of them.
  plan_errors::Repeats repeats_of(const Divisor& divisor) const {
    for (const TensorRow& row : plan_.rows) {
      if (row.repeats != divisor.name) continue;
      return inputs_.mesh.replicate_kv_heads ? plan_errors::Repeats::kYes
                                             : plan_errors::Repeats::kSwitchedOff;
    }
    return plan_errors::Repeats::kNo;
  }

  void check_divisors() {
    const int64_t tensor = inputs_.mesh.tensor;
    for (const Divisor& divisor : plan_.divisors) {
      if (divisor.value % tensor == 0) continue;
      const plan_errors::Repeats repeats = repeats_of(divisor);
      const bool is_repeated =
          repeats == plan_errors::Repeats::kYes && divisor.value > 0 && tensor % divisor.value == 0;
      if (is_repeated) continue;
      findings_.add(plan_errors::indivisible_number(divisor.name, divisor.value, tensor, repeats));
    }
    check_repeats();
  }

  void check_repeats() {
    for (const TensorRow& row : plan_.rows) {
      const bool is_known =
          row.repeats.empty() ||
          std::any_of(plan_.divisors.begin(), plan_.divisors.end(),
                      [&](const Divisor& divisor) { return divisor.name == row.repeats; });
      if (is_known) continue;
      std::vector<std::string> names;
      for (const Divisor& divisor : plan_.divisors) names.push_back(divisor.name);
      findings_.add(plan_errors::repeats(row_text(row), row.repeats, names));
    }
  }

  void check_units() {
    for (const std::string& module : planned_.modules) {
      std::vector<std::string> rows;
      for (const UnitRow& unit : plan_.units) {
        if (path_matches(unit.module, module)) rows.push_back("'" + unit.module + "'");
      }
      if (rows.size() > 1) findings_.add(plan_errors::units(module, rows));
    }
  }

  std::string treatment(const PlannedParameter& parameter) const {
    const std::string style =
        parameter.rows.empty() ? "no row" : to_string(plan_.rows[parameter.rows.front()].style);
    return style + ", " + (parameter.unit.empty() ? "no unit" : "unit " + parameter.unit);
  }

  void check_tied() {
    std::map<const at::Tensor*, const PlannedParameter*> first;
    for (const PlannedParameter& parameter : planned_.parameters) {
      const auto [it, is_new] = first.emplace(parameter.tensor, &parameter);
      if (is_new || treatment(*it->second) == treatment(parameter)) continue;
      findings_.add(plan_errors::tied(it->second->name, treatment(*it->second), parameter.name,
                                      treatment(parameter)));
    }
  }

  void check_mesh() {
    const MeshShape& mesh = inputs_.mesh;
    if (inputs_.world_size > 0 && mesh.world_size() != inputs_.world_size) {
      findings_.add(plan_errors::world(mesh, inputs_.world_size));
    }
  }

  const ShardPlan& plan_;
  const PlanCheckInputs& inputs_;
  PlannedModel planned_;
  Findings findings_;
};

/// Returns the ratio of two sizes, at least 1.
double distance(int64_t a, int64_t b) {
  return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

}  // namespace

Findings check_plan(Block& model, const ShardPlan& plan, const PlanCheckInputs& inputs) {
  return PlanCheck(model, plan, inputs).run();
}

std::vector<MeshShape> nearest_meshes(Block& model,
                                      const std::function<ShardPlan(const MeshShape&)>& plan,
                                      const PlanCheckInputs& inputs, size_t most) {
  const int64_t world = inputs.world_size > 0 ? inputs.world_size : inputs.mesh.world_size();
  const int64_t others = inputs.mesh.pipeline * inputs.mesh.replicate * inputs.mesh.context;
  std::vector<int64_t> tensor_sizes;
  for (int64_t size = 1; size <= world; ++size) {
    if (world % (size * others) == 0) tensor_sizes.push_back(size);
  }
  std::stable_sort(tensor_sizes.begin(), tensor_sizes.end(), [&](int64_t a, int64_t b) {
    return distance(a, inputs.mesh.tensor) < distance(b, inputs.mesh.tensor);
  });
  std::vector<MeshShape> found;
  for (const int64_t size : tensor_sizes) {
    if (found.size() == most) break;
    PlanCheckInputs candidate = inputs;
    candidate.mesh.tensor = size;
    candidate.mesh.shard = world / (size * others);
    if (check_plan(model, plan(candidate.mesh), candidate).empty()) found.push_back(candidate.mesh);
  }
  return found;
}

std::string mesh_argument(const MeshShape& mesh) {
  std::string text;
  for (const auto& [name, size] : {std::pair{"pipeline", mesh.pipeline},
                                   {"replicate", mesh.replicate},
                                   {"shard", mesh.shard},
                                   {"context", mesh.context},
                                   {"tensor", mesh.tensor}}) {
    if (size == 1) continue;
    text += (text.empty() ? "" : ",") + std::string(name) + "=" + std::to_string(size);
  }
  return text.empty() ? "shard=1" : text;
}

}  // namespace s2s
