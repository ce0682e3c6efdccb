#include "plan/activations.h"

#include <algorithm>
#include <map>
#include <set>

#include "s2s/nn/layers.h"

namespace s2s {
namespace {

// A float32: the root mean square of a norm, or the log-sum-exp of a row.
constexpr double kStatistic = 4;

std::string parent_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

/// The bytes that one block keeps, and the part of them that is its input.
struct BlockBytes {
  SavedBytes all, input;
};

class ActivationCount {
 public:
  ActivationCount(Block& model, const PlannedModel& planned, const ShardPlan& plan,
                  const ActivationInputs& inputs)
      : model_(model), planned_(planned), plan_(plan), inputs_(inputs) {}

  Activations run() {
    find_blocks();
    for (const auto& [module, attention] : attentions_) count_attention(module, *attention);
    for (const PlannedParameter& parameter : planned_.parameters) count_parameter(parameter);
    for (const auto& [parent, input] : inputs_of_siblings_) {
      if (input.is_kept) keep(parent, {input.bytes, 0, 0, 0});
    }
    sum_up();
    note_rest();
    return std::move(result_);
  }

 private:
  struct SharedInput {
    double bytes = 0;
    bool is_kept = false;
  };

  /// Recomputation applies to units that contain attention.
  void find_blocks() {
    for (const AttentionRow& row : plan_.attentions) {
      for (const std::string& module : planned_.modules) {
        if (!path_matches(row.module, module)) continue;
        attentions_[module] = &row;
        const std::string unit = unit_above(module);
        if (!unit.empty()) blocks_[unit];
      }
    }
  }

  /// Returns the attention that contains the module, or nullptr.
  const AttentionRow* attention_above(const std::string& module) const {
    for (std::string path = module; !path.empty(); path = parent_of(path)) {
      const auto found = attentions_.find(path);
      if (found != attentions_.end()) return found->second;
    }
    return nullptr;
  }

  std::string unit_above(const std::string& module) const {
    for (std::string path = module; !path.empty(); path = parent_of(path)) {
      for (const UnitRow& unit : plan_.units) {
        if (path_matches(unit.module, path)) return path;
      }
    }
    return "";
  }

  void keep(const std::string& module, const SavedBytes& bytes) {
    const auto block = blocks_.find(unit_above(module));
    (block == blocks_.end() ? outside_ : block->second.all).add(bytes);
  }

  double share(Layout layout) const {
    const bool is_split =
        layout == Layout::kLast || (layout == Layout::kSeq && inputs_.mesh.sequence_parallel);
    return is_split ? 1.0 / static_cast<double>(inputs_.mesh.tensor) : 1.0;
  }

  /// Counts the queries, keys and values, with keys and values repeated for the queries that share
  /// them, and the result. With kept scores, two or three scores of each pair replace the result.
  void count_attention(const std::string& module, const AttentionRow& row) {
    const auto tensor = static_cast<double>(inputs_.mesh.tensor);
    const auto dim = static_cast<double>(row.head_dim);
    const auto bytes = static_cast<double>(inputs_.product_bytes);
    const double heads = static_cast<double>(row.num_heads) / tensor;
    const double kv_heads = std::max(1.0, static_cast<double>(row.num_key_value_heads) / tensor);
    SavedBytes kept;
    // All queries read a single key/value head in place, without a copy.
    const bool is_repeated = kv_heads > 1 || row.keeps_scores;
    kept.per_position = (heads + 2 * (is_repeated ? heads : kv_heads)) * dim * bytes;
    if (row.keeps_scores) {
      kept.per_pair = heads * (2 * kStatistic + (bytes < kStatistic ? bytes : 0));
      kept.per_mask = 1;
    } else {
      kept.per_position += heads * (dim * bytes + kStatistic);
      if (row.window > 0 && inputs_.length > row.window) kept.per_mask = bytes;
    }
    if (row.norms_heads) kept.per_position += (heads + kv_heads) * (dim * bytes + kStatistic);
    keep(module, kept);
  }

  void count_parameter(const PlannedParameter& parameter) {
    if (parameter.rows.empty()) return;
    const TensorRow& row = plan_.rows[parameter.rows.front()];
    const std::vector<int64_t>& sizes = parameter.sizes;
    count_head(parameter);
    if (row.style == Style::kSequence && parameter.name.ends_with("weight") && sizes.size() == 1) {
      count_norm(parameter, row);
    }
    if (sizes.size() != 2 || parameter.module.ends_with(".lora_A"))
      return;  // reads the input of its layer
    if (parameter.module.ends_with(".lora_B")) {
      const int64_t width = sizes[1] * inputs_.product_bytes;
      keep(parameter.module, {static_cast<double>(width), 0, 0, 0});
      return;
    }
    if (row.style == Style::kColwise) count_colwise(parameter, row);
    if (row.style == Style::kRowwise) count_rowwise(parameter, row);
  }

  void count_norm(const PlannedParameter& parameter, const TensorRow& row) {
    const double width = static_cast<double>(parameter.sizes[0] * inputs_.stream_bytes);
    const SavedBytes kept{(width + kStatistic) * share(row.in), 0, 0, 0};
    keep(parameter.module, kept);
    const auto block = blocks_.find(unit_above(parameter.module));
    if (block == blocks_.end() || block->second.input.per_position > 0) return;
    block->second.input.per_position = width * share(row.in);  // the input of the first norm
  }

  /// A product keeps its input only for the gradient of its weight or of its adapter.
  bool keeps_input(const PlannedParameter& parameter) const {
    return inputs_.is_trained(parameter.name) ||
           inputs_.is_trained(parameter.module + ".lora_A.weight");
  }

  /// Sibling layers read the same input, which autocast rounds for each of them. Their outputs are
  /// kept by the consumer: counted with the attention, or here.
  void count_colwise(const PlannedParameter& parameter, const TensorRow& row) {
    const auto bytes = static_cast<double>(inputs_.product_bytes);
    const double input = static_cast<double>(parameter.sizes[1]) * bytes * share(row.in);
    if (inputs_.product_bytes == inputs_.stream_bytes) {
      SharedInput& shared = inputs_of_siblings_[parent_of(parameter.module)];
      shared.bytes = input;
      shared.is_kept = shared.is_kept || keeps_input(parameter);
    } else if (keeps_input(parameter)) {
      keep(parameter.module, {input, 0, 0, 0});
    }
    if (attention_above(parameter.module) != nullptr) return;
    keep(parameter.module, {static_cast<double>(parameter.tensor_sizes[0]) * bytes, 0, 0, 0});
  }

  void count_rowwise(const PlannedParameter& parameter, const TensorRow& row) {
    const AttentionRow* attention = attention_above(parameter.module);
    const bool is_result = attention != nullptr && !attention->keeps_scores;
    if (is_result || !keeps_input(parameter)) return;
    const auto width = static_cast<double>(parameter.sizes[1] * inputs_.product_bytes);
    keep(parameter.module, {width * share(row.in), 0, 0, 0});
  }

  /// The loss reads the logits in chunks. In doing so it computes and keeps the gradients of the
  /// last hidden state and of the head's weight.
  void count_head(const PlannedParameter& parameter) {
    const bool is_head =
        parameter.sizes.size() == 2 &&
        std::any_of(plan_.heads.begin(), plan_.heads.end(), [&](const HeadRow& head) {
          return path_matches(head.module, parameter.module);
        });
    if (!is_head) return;
    outside_.add({static_cast<double>(parameter.sizes[1] * inputs_.stream_bytes), 0, 0,
                  static_cast<double>(parameter.tensor_numel() * inputs_.bytes_per_parameter)});
  }

  void sum_up() {
    result_.all = outside_;
    result_.recomputed = outside_;
    result_.num_blocks = static_cast<int64_t>(blocks_.size());
    const auto size = [this](const SavedBytes& bytes) {
      return bytes.at(1, std::max<int64_t>(1, inputs_.length));
    };
    for (const auto& [path, block] : blocks_) {
      result_.all.add(block.all);
      result_.recomputed.add(block.input);
      if (size(block.all) > size(result_.largest_block)) result_.largest_block = block.all;
    }
  }

  /// Rows of whole modules give no details about their inner tensors. Embedding tables and heads
  /// keep nothing else.
  void note_rest() {
    std::map<std::string, int64_t> parts;  // number of rows per part of the model
    for (const TensorRow& row : plan_.rows) {
      if (owns_subtree(row.style) && !is_silent(row))
        ++parts[row.module.substr(0, row.module.find('.'))];
    }
    for (const auto& [part, rows] : parts) {
      result_.not_counted.push_back("'" + part + "': " + std::to_string(rows) +
                                    (rows == 1 ? " row does" : " rows do") +
                                    " not describe the activations");
    }
    if (inputs_.mesh.pipeline > 1) result_.not_counted.emplace_back("the pipeline axis");
    if (inputs_.mesh.context > 1) result_.not_counted.emplace_back("the context axis");
  }

  bool is_silent(const TensorRow& row) const {
    bool is_silent = true;
    model_.for_each_block([&](const std::string& path, Block& block) {
      if (!path_matches(row.module, path)) return;
      const bool is_head =
          std::any_of(plan_.heads.begin(), plan_.heads.end(),
                      [&](const HeadRow& head) { return path_matches(head.module, path); });
      if (!is_head && dynamic_cast<Embedding*>(&block) == nullptr) is_silent = false;
    });
    return is_silent;
  }

  Block& model_;
  const PlannedModel& planned_;
  const ShardPlan& plan_;
  const ActivationInputs& inputs_;
  std::map<std::string, const AttentionRow*> attentions_;  // by path
  std::map<std::string, BlockBytes> blocks_;               // by path of the unit
  SavedBytes outside_;
  std::map<std::string, SharedInput> inputs_of_siblings_;  // by path of the parent
  Activations result_;
};

}  // namespace

double SavedBytes::at(int64_t rows, int64_t length) const {
  const auto count = static_cast<double>(rows);
  const auto positions = static_cast<double>(length);
  return count * positions * per_position + count * positions * positions * per_pair +
         positions * positions * per_mask + fixed;
}

void SavedBytes::add(const SavedBytes& other) {
  per_position += other.per_position;
  per_pair += other.per_pair;
  per_mask += other.per_mask;
  fixed += other.fixed;
}

Activations expected_activations(Block& model, const PlannedModel& planned, const ShardPlan& plan,
                                 const ActivationInputs& inputs) {
  return ActivationCount(model, planned, plan, inputs).run();
}

}  // namespace s2s
