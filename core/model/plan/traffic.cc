#include "plan/traffic.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace s2s {
namespace {

/// Fraction of an all-gather or a reduce-scatter that a rank of a ring sends. An all-reduce
/// consists of both.
double ring_share(int64_t size) {
  return static_cast<double>(size - 1) / static_cast<double>(size);
}

int64_t rounded(double bytes) { return static_cast<int64_t>(std::llround(bytes)); }

const TensorRow* row_of(const PlannedParameter& parameter, const ShardPlan& plan) {
  return parameter.rows.empty() ? nullptr : &plan.rows[parameter.rows.front()];
}

/// The width of the activation at a weight's input or output; 0: the weight does not determine it.
int64_t outer_width(const PlannedParameter& parameter, const TensorRow& row) {
  const std::vector<int64_t>& sizes = parameter.sizes;
  if (row.style == Style::kSequence && sizes.size() == 1) return sizes[0];
  if (sizes.size() != 2) return 0;
  if (row.style == Style::kColwise || row.style == Style::kVocab) return sizes[1];
  return row.style == Style::kRowwise ? sizes[0] : 0;
}

std::set<std::string> head_units(const PlannedModel& planned, const ShardPlan& plan) {
  std::set<std::string> units;
  for (const PlannedParameter& parameter : planned.parameters) {
    for (const HeadRow& head : plan.heads) {
      if (path_matches(head.module, parameter.module)) units.insert(parameter.unit);
    }
  }
  return units;
}

class TrafficCount {
 public:
  TrafficCount(const PlannedModel& planned, const ShardPlan& plan, const TrafficInputs& inputs)
      : planned_(planned),
        plan_(plan),
        inputs_(inputs),
        settings_(inputs.settings),
        mesh_(inputs.settings.mesh),
        units_with_heads_(head_units(planned, plan)) {}

  Traffic run() {
    if (mesh_.world_size() == 1) {
      traffic_.tensor_activations = 0;
      return traffic_;
    }
    count_parameters();
    if (mesh_.tensor > 1) {
      for (const TensorRow& row : plan_.rows) count_row(row);
      for (const HeadRow& head : plan_.heads) count_head(head);
    }
    count_step();
    note_other_axes();
    return traffic_;
  }

 private:
  void count_parameters() {
    std::set<const at::Tensor*> seen;
    double gathered = 0, reduced = 0, replicated = 0, tensor = 0;
    for (const PlannedParameter& parameter : planned_.parameters) {
      if (!seen.insert(parameter.tensor).second) continue;
      const auto share = static_cast<double>(sharded_numel(parameter, mesh_.shard));
      const auto others = static_cast<double>(mesh_.shard - 1);
      const bool is_trained = inputs_.is_trained(parameter.name);
      gathered += gathered_numbers(parameter, is_trained);
      if (!is_trained) continue;
      reduced += others * share;
      replicated += 2 * ring_share(mesh_.replicate) * share;
      tensor += 2 * ring_share(holders_of_partial_gradient(parameter, plan_, mesh_)) * share;
    }
    const auto stored = static_cast<double>(inputs_.bytes.stored);
    // Gradients that stay sharded are reduce-scattered after each micro-batch.
    const double reductions =
        reduces_every_micro_batch(settings_) ? static_cast<double>(inputs_.micro_batches) : 1;
    traffic_.shard_gather = rounded(gathered * static_cast<double>(inputs_.bytes.gathered));
    traffic_.shard_reduce =
        rounded(reduced * reductions * static_cast<double>(inputs_.bytes.reduced));
    traffic_.replicate_reduce = rounded(replicated * stored);
    traffic_.tensor_gradients = rounded(tensor * stored);
  }

  /// The elements of a parameter that a rank sends in a step. In stage 3, a unit is all-gathered
  /// before its forward. Unless it stays unsharded, it is all-gathered again before its backward,
  /// from all ranks or from its reshard group. Parameters outside of any unit stay unsharded
  /// between updates. Before stage 3, updated parameters are all-gathered after the update.
  double gathered_numbers(const PlannedParameter& parameter, bool is_trained) const {
    if (is_replicated(settings_, is_trained)) return 0;
    const double once = static_cast<double>(mesh_.shard - 1) *
                        static_cast<double>(sharded_numel(parameter, mesh_.shard));
    if (settings_.zero_stage < 3 || parameter.unit.empty()) return is_trained ? once : 0;
    const auto micro_batches = static_cast<double>(inputs_.micro_batches);
    const bool stays =
        !settings_.reshard_after_forward || units_with_heads_.contains(parameter.unit);
    if (stays) return once * micro_batches;
    const int64_t near = near_group_size(settings_);
    const double again =
        near > 0 ? ring_share(near) * static_cast<double>(parameter.tensor_numel()) : once;
    return (once + again) * micro_batches;
  }

  /// Returns the messages of one row, in multiples of an all-gather, for forward and backward
  /// together. An all-reduce counts as two.
  CollectiveBytes messages_of(const TensorRow& row) const {
    const bool split = mesh_.sequence_parallel;
    const bool opens = row.in == Layout::kSeq && row.out == Layout::kFull;
    const bool closes = row.in == Layout::kFull && row.out == Layout::kSeq;
    const bool is_reduced = row.style == Style::kRowwise || row.style == Style::kVocab;
    if (is_reduced && row.out == Layout::kLast) return {};  // a head (count_head), or a partial sum
    if (is_reduced && split && row.out == Layout::kSeq) return {1, 1, 0};
    if (is_reduced) return {0, 0, 2};
    if (row.style == Style::kSequence) return {split && opens ? 1.0 : 0.0, 0, 0};
    if (row.style != Style::kBoundary) return {};
    if (opens) return split ? CollectiveBytes{1, 1, 0} : CollectiveBytes{0, 0, 2};
    return {split && closes ? 1.0 : 0.0, 0, 0};
  }

  void count_row(const TensorRow& row) {
    if (row.style == Style::kCustom) {
      traffic_.not_counted.push_back("row '" + row.module +
                                     "' (custom): only its strategy knows its traffic");
    }
    const CollectiveBytes messages = messages_of(row);
    if (messages.total() == 0) return;
    for (const std::string& module : planned_.modules) {
      if (!path_matches(row.module, module)) continue;
      const int64_t width = width_at(module, row.style == Style::kBoundary);
      if (width == 0) {
        traffic_.not_counted.push_back("'" + module + "': the width of its activation is unknown");
      }
      add(messages, static_cast<double>(width * inputs_.bytes.product));
    }
  }

  /// A split head: the gradient of its input is all-reduced. The loss exchanges three values
  /// (largest logit, sum of exponentials, the label's logit) per vocabulary.
  void count_head(const HeadRow& head) {
    for (const PlannedParameter& parameter : planned_.parameters) {
      const TensorRow* row = row_of(parameter, plan_);
      const bool is_split = row != nullptr && row->style == Style::kVocab;
      const bool is_weight = is_split && parameter.sizes.size() == 2;
      if (!is_weight || !path_matches(head.module, parameter.module)) continue;
      constexpr int64_t kLossBytes = 3 * 4;  // float32
      add({0, 0, 2}, static_cast<double>(parameter.sizes[1] * inputs_.bytes.product +
                                         kLossBytes * std::max<int64_t>(1, head.groups)));
    }
  }

  void add(const CollectiveBytes& messages, double bytes) {
    const double sent = ring_share(mesh_.tensor) * bytes;
    traffic_.tensor_per_position.all_gather += messages.all_gather * sent;
    traffic_.tensor_per_position.reduce_scatter += messages.reduce_scatter * sent;
    traffic_.tensor_per_position.all_reduce += messages.all_reduce * sent;
  }

  /// Returns the width of the activation at a module's hook: from its own weight, or at a boundary
  /// from the first weight below.
  int64_t width_at(const std::string& module, bool is_boundary) const {
    const std::string below = module.empty() ? "" : module + ".";
    for (const PlannedParameter& parameter : planned_.parameters) {
      const bool inside =
          is_boundary ? parameter.name.starts_with(below) : parameter.module == module;
      const TensorRow* row = row_of(parameter, plan_);
      if (!inside || row == nullptr) continue;
      if (const int64_t width = outer_width(parameter, *row)) return width;
    }
    return 0;
  }

  void count_step() {
    if (mesh_.tensor > 1 && inputs_.positions == 0) return;
    const auto micro_batches = static_cast<double>(inputs_.micro_batches);
    const double whole = micro_batches * static_cast<double>(inputs_.positions);
    const double split =
        micro_batches * static_cast<double>(std::max(inputs_.positions, inputs_.padded_positions));
    const CollectiveBytes& one = traffic_.tensor_per_position;
    traffic_.tensor_step = {one.all_gather * split, one.reduce_scatter * split,
                            one.all_reduce * whole};
    traffic_.tensor_activations = rounded(traffic_.tensor_step.total());
  }

  void note_other_axes() {
    if (mesh_.pipeline > 1) {
      traffic_.not_counted.emplace_back(
          "the pipeline axis: the traffic is counted as if one stage had all layers");
    }
    if (mesh_.context > 1) {
      traffic_.not_counted.emplace_back("the context axis: keys and values that ranks exchange");
    }
  }

  const PlannedModel& planned_;
  const ShardPlan& plan_;
  const TrafficInputs& inputs_;
  const EngineSettings& settings_;
  const MeshShape& mesh_;
  std::set<std::string> units_with_heads_;
  Traffic traffic_;
};

}  // namespace

int64_t sharded_numel(const PlannedParameter& parameter, int64_t shard) {
  if (parameter.tensor_sizes.empty()) return 1;
  const int64_t first = parameter.tensor_sizes.front();
  if (first == 0) return 0;
  return parameter.tensor_numel() / first * ((first + shard - 1) / shard);
}

std::optional<int64_t> Traffic::total() const {
  if (!tensor_activations) return std::nullopt;
  return shard_gather + shard_reduce + replicate_reduce + tensor_gradients + *tensor_activations;
}

Traffic expected_traffic(const PlannedModel& planned, const ShardPlan& plan,
                         const TrafficInputs& inputs) {
  return TrafficCount(planned, plan, inputs).run();
}

}  // namespace s2s
