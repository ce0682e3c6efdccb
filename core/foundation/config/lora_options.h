#pragma once
// Options of low-rank adapters; nn/lora.h says what they are.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/options.h"

namespace s2s {

/// `model.lora`; names as in PEFT's LoraConfig.
struct LoraOptions {
  int64_t r = 0;  // 0: no adapters
  double lora_alpha = 8;
  double lora_dropout = 0;
  std::vector<std::string> target_modules;
  std::string task_type = "CAUSAL_LM";
  std::optional<std::string> path;
  void visit(OptionVisitor& v);
  /// target_modules, or q_proj and v_proj where there are none.
  std::vector<std::string> targets() const;
  double scale() const { return lora_alpha / static_cast<double>(r); }
};

}  // namespace s2s
