#pragma once
// A reference file: one component's configuration, weights, inputs and what another implementation
// made of them. Layout: core/docs/reference/reference_files.md.

#include <map>
#include <optional>
#include <string>

#include "s2s/config.h"
#include "s2s/nn/block.h"

namespace s2s {

/// How far the source's own bfloat16 is from its float32, over draws of nudged weights: before draw
/// d (1, 2, ...), every weight is multiplied by 1 + nudge * noise, normal noise from seed d in the
/// order of the weights' names.
struct RoundingReference {
  int64_t draws = 0;
  double nudge = 0;
  /// "output/logits", "grad/NAME" -> root of the mean square difference over numbers and draws.
  std::map<std::string, double> errors;
};

struct ReferenceFile {
  std::string path;
  std::string kind, name;
  Config options;  // the source's own configuration
  double rtol = 0, atol = 0;
  TensorMap weights, inputs, outputs, grads;
  std::map<int64_t, TensorMap> after;  // optimizer steps done -> weights
  std::optional<RoundingReference> bfloat16;

  /// Errors: [reference/no-input].
  const at::Tensor& input(const std::string& tensor) const;
  /// The output, or an undefined tensor when the file does not ask for it.
  at::Tensor output(const std::string& tensor) const;
};

/// Errors: those of the file format, [reference/metadata], [weights/json].
ReferenceFile read_reference(const std::string& path);

}  // namespace s2s
