#include "nn/lora.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/path_pattern.h"
#include "nn/lora_targets.h"
#include "s2s/kinds/backbone.h"
#include "s2s/kinds/codec.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/layers.h"

namespace s2s {
namespace {

struct NamedLinear {
  std::string path;
  Linear* linear;
};

bool ends_with_segment(const std::string& path, const std::string& segment) {
  return path == segment || path.ends_with("." + segment);
}

/// Returns every linear layer of the model, except the head and those of codecs.
std::vector<NamedLinear> linears(Block& root) {
  std::vector<NamedLinear> found;
  std::vector<std::string> codecs;
  root.for_each_block([&](const std::string& path, Block& block) {
    if (dynamic_cast<Codec*>(&block) != nullptr) codecs.push_back(path + ".");
    for (const std::string& codec : codecs) {
      if (path.starts_with(codec)) return;
    }
    auto* const linear = dynamic_cast<Linear*>(&block);
    const bool is_other = ends_with_segment(path, "lora_A") || ends_with_segment(path, "lora_B") ||
                          ends_with_segment(path, "lm_head");
    if (linear != nullptr && !is_other) found.push_back({path, linear});
  });
  return found;
}

std::string names_of(const std::vector<NamedLinear>& all) {
  std::set<std::string> names;
  for (const NamedLinear& entry : all) names.insert(split_path(entry.path).back());
  return fmt::format("{}", fmt::join(names, ", "));
}

Error targets_error(const LoraOptions& options, const std::vector<NamedLinear>& all) {
  if (options.target_pattern) {
    return {ExitCode::kConfig, "lora/targets",
            fmt::format("model.lora.target_modules is the text '{}', a regular expression that "
                        "must match a whole module name, and matches none; expected a list of the "
                        "ends of module paths ({}), a pattern as '.*\\.(q_proj|v_proj)', or "
                        "all-linear",
                        *options.target_pattern, names_of(all))};
  }
  return {ExitCode::kConfig, "lora/targets",
          fmt::format("model.lora.target_modules = [{}] matches no linear layer of the language "
                      "model; expected the ends of module paths: {}",
                      fmt::join(options.targets(), ", "), names_of(all))};
}

/// Refuses targets that are modules of another kind, which PEFT adapts or refuses, too.
void refuse_other_modules(Block& root, const LoraTargets& targets,
                          const std::vector<NamedLinear>& all) {
  std::set<std::string> linear;
  for (const NamedLinear& entry : all) linear.insert(entry.path);
  root.for_each_block([&](const std::string& path, Block&) {
    for (const std::string& target : targets.unmatched()) {
      if (!is_lora_target(target, path) || linear.contains(path)) continue;
      throw Error(ExitCode::kConfig, "lora/targets",
                  fmt::format("model.lora.target_modules: '{}' is the module '{}', which takes no "
                              "adapter here; expected the ends of paths of linear layers: {}",
                              target, path, names_of(all)));
    }
  });
}

/// The names of the model in checkpoints; `root` is a language model or a whole model.
NameMap names_in_checkpoints(Block& root) {
  if (auto* const llm = dynamic_cast<Backbone*>(&root)) return llm->checkpoint_names();
  if (auto* const model = dynamic_cast<Model*>(&root)) return model->checkpoint_names();
  return {{{"**", "**"}}, {}};
}

/// How the two parts of an adapter are sharded, given the style of the layer's weight. An unsplit
/// part next to a split one sees only what one rank computes, so its gradients are summed over the
/// ranks, as those of a head's norm.
struct AdapterRows {
  TensorRow a, b;
};

AdapterRows rows_beside(const TensorRow& row) {
  AdapterRows rows{{row.module + ".lora_A"}, {row.module + ".lora_B"}};
  if (row.style == Style::kColwise) {
    rows.a.style = Style::kPerHead;
    rows.b.style = Style::kColwise;
    rows.b.out = Layout::kLast;
    rows.b.repeats = row.repeats;
    rows.b.stacked = row.stacked;
  } else if (row.style == Style::kRowwise) {
    rows.a.style = Style::kRowwise;
    rows.a.in = rows.a.out =
        Layout::kLast;  // a partial sum, which the layer's own all-reduce completes
    rows.b = {rows.b.module, Style::kPerHead, Layout::kLast, Layout::kLast};
  }
  return rows;
}

}  // namespace

AdaptedPart adapted_part(Model& model) {
  if (auto* const with_llm = find_capability<HasLanguageModel>(model)) {
    Backbone& llm = with_llm->language_model();
    return {&llm, llm.checkpoint_names()};
  }
  if (find_capability<TakesAdapters>(model) == nullptr) return {};
  return {&model, model.checkpoint_names()};
}

std::vector<std::string> add_lora(Block& root, const LoraOptions& options) {
  const std::vector<NamedLinear> all = linears(root);
  LoraTargets targets(options, names_in_checkpoints(root));
  bool any = false;
  for (const NamedLinear& entry : all) {
    if (!targets.takes(entry.path)) continue;
    const int64_t rank = targets.rank(entry.path);
    entry.linear->add_lora(rank, options.scale(rank, targets.alpha(entry.path)),
                           options.lora_dropout);
    any = true;
  }
  refuse_other_modules(root, targets, all);
  if (!any) throw targets_error(options, all);
  return {targets.unmatched().begin(), targets.unmatched().end()};
}

void merge_lora(Block& root) {
  for (const NamedLinear& entry : linears(root)) entry.linear->merge_lora();
}

void add_lora_rows(Block& model, ShardPlan& plan) {
  const std::vector<NamedLinear> all = linears(model);
  std::vector<TensorRow> rows;
  for (const TensorRow& row : plan.rows) {
    rows.push_back(row);
    const bool owns_below = row.style == Style::kReplicate || row.style == Style::kCustom;
    if (owns_below || row.style == Style::kBoundary) continue;
    const bool has_adapter = std::any_of(all.begin(), all.end(), [&](const NamedLinear& entry) {
      return entry.linear->has_lora() && path_matches(row.module, entry.path);
    });
    if (!has_adapter) continue;
    const AdapterRows adapter = rows_beside(row);
    rows.push_back(adapter.a);
    rows.push_back(adapter.b);
  }
  plan.rows = std::move(rows);
}

}  // namespace s2s
