#pragma once
// Runs a component on the inputs of a reference file and compares its outputs tensor by tensor.

#include <cstdint>
#include <string>
#include <vector>

#include "compare/reference_file.h"
#include "s2s/nn/name_map.h"
#include "s2s/registry.h"

namespace s2s {

struct TensorDifference {
  std::string name;      // as in the file: "output/logits", "grad/model.norm.weight"
  std::string shape;     // shape of the reference
  int64_t compared = 0;  // number of compared elements, without padding
  double largest_absolute = 0;
  double largest_relative = 0;    // |a - b| / |b| where b is not 0
  double root_mean_square = 0;    // of a - b
  double share_of_tolerance = 0;  // largest |a - b| / (atol + rtol |b|); integers: 0 or infinity
  bool pass = false;
  std::string note;  // "shape [2, 3]", "missing", integers: "1 of 96 differ, by at most 1"
};

/// Limit of the bfloat16 error relative to float32, as a multiple of the peer's own bfloat16 error.
/// Applies to each tensor, and to the root mean square over the tensors of a file. The measurements
/// are in core/docs/reference/reference_files.md.
constexpr double kRoundingOfTensor = 1.25;
constexpr double kRoundingOfFile = 1.05;

struct CompareSettings {
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;
};
/// Returns the dtype of a name: "bfloat16" -> at::kBFloat16. Errors: [reference/dtype].
at::ScalarType parse_dtype(const std::string& text);
/// Errors: [reference/device].
at::Device parse_device(const std::string& text);

/// Collects differences under one tolerance. Half precision widens it: rtol is at least 5 %, and
/// atol at least 5 % of the largest value of the tensor.
class Comparison {
 public:
  Comparison(const ReferenceFile& reference, const CompareSettings& settings);

  /// Compares `actual` with the reference tensor `expected`. With `valid` (a bool mask that
  /// broadcasts to them), compares only where it is true. An undefined `expected` is not compared
  /// and not recorded. An undefined `actual` fails.
  void add(const std::string& name, const at::Tensor& actual, const at::Tensor& expected,
           const at::Tensor& valid = {});
  /// Records a tensor by its bfloat16 error. Passes when `ours`, the root mean square distance from
  /// float32, is at most `factor` times that of the source. `like` has the shape of the tensor.
  void add_rounding(const std::string& name, const at::Tensor& like, double ours, double source,
                    double factor = kRoundingOfTensor);
  const std::vector<TensorDifference>& rows() const { return rows_; }

 private:
  TensorDifference difference(const std::string& name, const at::Tensor& actual,
                              const at::Tensor& expected, const at::Tensor& valid) const;
  /// Compares the elements of a sample, and the norm of all.
  TensorDifference difference_of_sample(const std::string& name, const at::Tensor& actual,
                                        const at::Tensor& expected,
                                        const SampledTensor& sample) const;

  const ReferenceFile& reference_;
  bool is_half_;
  std::vector<TensorDifference> rows_;
};

struct CompareJob {
  const ReferenceFile& reference;
  const CompareSettings& settings;
  const Registries& registries;
};

/// Builds the component that the file names, loads its weights, runs it and compares.
/// Errors: [reference/metadata] for a kind that cannot be compared, those of the component.
std::vector<TensorDifference> compare_reference(const CompareJob& job);

/// One function per kind.
void compare_codec(const CompareJob& job, Comparison& comparison);
void compare_llm(const CompareJob& job, Comparison& comparison);
void compare_encoder(const CompareJob& job, Comparison& comparison);
void compare_model(const CompareJob& job, Comparison& comparison);
void compare_scorer(const CompareJob& job, Comparison& comparison);

/// Builds the component that the file names, with translated options of the source.
template <class T>
std::unique_ptr<T> build_from_reference(const CompareJob& job);

/// Returns the gradient of every parameter. The names are those of `expected` if present, otherwise
/// those of checkpoints. Parameters without a gradient get zeros.
TensorMap named_grads(Block& block, const NameMap& names, const TensorMap& expected);

/// Compares the gradient of every parameter (grad/*), by checkpoint names. A missing one is zeros.
void compare_grads(Block& block, const NameMap& names, const TensorMap& expected,
                   Comparison& comparison);

/// Returns a text table, or JSON.
std::string format_differences(const ReferenceFile& reference,
                               const std::vector<TensorDifference>& rows);
std::string differences_json(const ReferenceFile& reference,
                             const std::vector<TensorDifference>& rows);

}  // namespace s2s
