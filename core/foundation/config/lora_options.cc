// The keys of model.lora.

#include <cmath>
#include <utility>

#include "config/run_blocks.h"

namespace s2s {

void LoraOptions::visit(OptionVisitor& v) {
  v("r", r, "rank of the adapters; 0: none", at_least(0));
  v("lora_alpha", lora_alpha, "the adapter output is scaled by lora_alpha / r");
  v("lora_dropout", lora_dropout, "dropout probability of the adapter inputs in training",
    between(0, 1));
  v("target_modules", target_modules,
    "path suffixes of the linear layers that get an adapter, or all-linear; empty: q_proj and "
    "v_proj, as in PEFT");
  v("target_pattern", target_pattern,
    "instead of target_modules: a regular expression that matches whole names of linear layers, as "
    "checkpoints of the model call them; null: none");
  v("exclude_modules", exclude_modules, "path suffixes of linear layers that get no adapter");
  v("exclude_pattern", exclude_pattern,
    "a regular expression of whole names of linear layers that get no adapter; null: none");
  v("layers_to_transform", layers_to_transform,
    "numbers of the layers in which target_modules count; empty: all", at_least(0));
  v("layers_pattern", layers_pattern,
    "names of the lists whose items layers_to_transform counts; empty: any list");
  v("rank_pattern", rank_pattern,
    "ranks of some layers, by the end of their names or a regular expression of it");
  v("alpha_pattern", alpha_pattern, "the same for lora_alpha");
  v("use_rslora", use_rslora,
    "scale the adapter output by lora_alpha / sqrt(r), as rank-stabilized LoRA");
  v("task_type", task_type, "task type that is written to adapter files", one_of({"CAUSAL_LM"}));
  v("path", path, "folder with an adapter in PEFT format; null: new adapters");
}

void LoraOptions::target_only(std::vector<std::string> modules) {
  target_modules = std::move(modules);
  target_pattern = exclude_pattern = std::nullopt;
  exclude_modules.clear();
  layers_to_transform.clear();
  layers_pattern.clear();
}

double LoraOptions::scale(int64_t rank, double alpha) const {
  const auto divisor = static_cast<double>(rank);
  return alpha / (use_rslora ? std::sqrt(divisor) : divisor);
}

std::vector<std::string> LoraOptions::targets() const {
  return target_modules.empty() ? std::vector<std::string>{"q_proj", "v_proj"} : target_modules;
}

}  // namespace s2s
