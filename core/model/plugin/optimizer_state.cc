// Functions that optimizers share.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cctype>

#include "s2s/error.h"
#include "s2s/kinds/optimizer.h"

namespace s2s {

bool is_norm_or_bias(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name.find("norm") != std::string::npos || name.find("bias") != std::string::npos;
}

void restore_state(const TensorMap& own, const TensorMap& stored) {
  std::string problems;
  for (const auto& [name, tensor] : own) {
    const auto found = stored.find(name);
    if (found == stored.end()) {
      problems += "\n  missing: " + name;
    } else if (found->second.sizes() != tensor.sizes()) {
      problems += "\n  another size: " + name;
    }
  }
  for (const auto& [name, tensor] : stored) {
    if (!own.contains(name)) problems += "\n  not expected: " + name;
  }
  if (!problems.empty()) {
    throw Error(ExitCode::kConfig, "checkpoint/optimizer",
                "the optimizer state does not belong to this model and optimizer" + problems +
                    "\n  expected: a checkpoint of the same model and optimizer, with the same "
                    "frozen parameters");
  }
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : own) tensor.copy_(stored.at(name));
}

}  // namespace s2s
