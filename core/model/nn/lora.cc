#include "nn/lora.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/path_pattern.h"
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

/// Returns true when the last segments of the path match the target.
bool is_target(const std::string& target, const std::string& path) {
  if (target == "all-linear") return true;
  const size_t count = split_path(target).size();
  const std::vector<std::string> segments = split_path(path);
  if (count == 0 || count > segments.size()) return false;
  const auto begin = segments.end() - static_cast<std::ptrdiff_t>(count);
  return path_matches(target, fmt::format("{}", fmt::join(begin, segments.end(), ".")));
}

Error targets_error(const std::vector<std::string>& targets, const std::vector<NamedLinear>& all) {
  std::set<std::string> names;
  for (const NamedLinear& entry : all) names.insert(split_path(entry.path).back());
  return {ExitCode::kConfig, "lora/targets",
          fmt::format("model.lora.target_modules = [{}] matches no linear layer of the language "
                      "model; expected the ends of module paths: {}",
                      fmt::join(targets, ", "), fmt::join(names, ", "))};
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
  const std::vector<std::string> targets = options.targets();
  std::set<std::string> unmatched(targets.begin(), targets.end());
  bool any = false;
  for (const NamedLinear& entry : all) {
    bool matches = false;
    for (const std::string& target : targets) {
      if (!is_target(target, entry.path)) continue;
      matches = true;
      unmatched.erase(target);
    }
    if (!matches) continue;
    entry.linear->add_lora(options.r, options.scale(), options.lora_dropout);
    any = true;
  }
  if (!any) throw targets_error(targets, all);
  return {unmatched.begin(), unmatched.end()};
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
