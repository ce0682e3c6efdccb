#pragma once
// A reference file: configuration, weights and inputs of one component, and the outputs of another
// implementation. Layout: core/docs/reference/reference_files.md.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/nn/block.h"

namespace s2s {

/// The source's own bfloat16 error (relative to its float32), over draws of perturbed weights.
/// Before draw d (1, 2, ...), every weight is multiplied by 1 + nudge * noise. The noise is normal,
/// from seed d, in the order of the weights' names.
struct RoundingReference {
  int64_t draws = 0;
  double nudge = 0;
  /// "output/logits", "grad/NAME" -> root mean square difference over elements and draws.
  std::map<std::string, double> errors;
};

/// Of a large gradient, or of weights after steps: some elements, which the file has as a tensor
/// [N], and the norm of all. Element i is at the flat index of numpy.random.default_rng(seed)'s
/// random()[i] times the number of elements, rounded down.
struct SampledTensor {
  uint64_t seed = 0;
  double norm = 0;
  std::vector<int64_t> shape;

  /// Returns the flat indices of the first `count` elements.
  at::Tensor indices(int64_t count) const;
};

struct ReferenceFile {
  std::string path;
  std::string kind, name;
  Config options;  // the configuration of the source; of an encoder with its `preprocessor`
  double rtol = 0, atol = 0;
  TensorMap weights, inputs, outputs, grads;
  std::map<int64_t, TensorMap> after;            // optimizer steps done -> weights
  std::map<std::string, SampledTensor> sampled;  // by name in the file: "grad/NAME"
  std::optional<RoundingReference> bfloat16;
  std::optional<int64_t> first_books;  // of a codec: how many audio_first_books were decoded from

  /// Errors: [reference/no-input].
  const at::Tensor& input(const std::string& tensor) const;
  /// Returns the output, or an undefined tensor when the file does not contain it.
  at::Tensor output(const std::string& tensor) const;
};

/// Errors: those of the file format, [reference/metadata], [weights/json].
ReferenceFile read_reference(const std::string& path);

}  // namespace s2s
