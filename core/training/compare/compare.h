#pragma once
// Runs a component on a reference file and compares tensor by tensor.

#include <cstdint>
#include <string>
#include <vector>

#include "compare/reference_file.h"
#include "s2s/nn/name_map.h"
#include "s2s/registry.h"

namespace s2s {

/// One tensor's difference from the reference.
struct TensorDifference {
  std::string name;      // as in the file: "output/logits", "grad/model.norm.weight"
  std::string shape;     // of the reference
  int64_t compared = 0;  // numbers; padded positions are left out
  double largest_absolute = 0;
  double largest_relative = 0;    // |a - b| / |b| where b is not 0
  double root_mean_square = 0;    // of a - b
  double share_of_tolerance = 0;  // largest |a - b| / (atol + rtol |b|); integers: 0 or infinity
  bool pass = false;
  std::string note;  // what is wrong beside the numbers: "shape [2, 3]", "missing"
};

/// How far our bfloat16 may be from float32, as a multiple of how far the source's own is: in each
/// tensor, and the root mean square over a file's tensors. core/docs/reference/reference_files.md
/// says what was measured.
constexpr double kRoundingOfTensor = 1.25;
constexpr double kRoundingOfFile = 1.05;

struct CompareSettings {
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;
};
/// "bfloat16" -> at::kBFloat16. Errors: [reference/dtype].
at::ScalarType parse_dtype(const std::string& text);
/// Errors: [reference/device].
at::Device parse_device(const std::string& text);

/// Collects differences under one tolerance. Half precision widens it: rtol and atol of at least
/// 5 %, the latter of the tensor's largest value.
class Comparison {
 public:
  Comparison(const ReferenceFile& reference, const CompareSettings& settings);

  /// Compares `actual` with the reference tensor `expected`, both whole or where `valid` (bool,
  /// broadcast to them) is true. An undefined `expected` is not asked for: nothing is recorded. An
  /// undefined `actual` fails.
  void add(const std::string& name, const at::Tensor& actual, const at::Tensor& expected,
           const at::Tensor& valid = {});
  /// A tensor whose rounding was measured: passes when `ours`, the root of our mean square distance
  /// from float32, is at most `factor` times the source's. `like` has the tensor's shape.
  void add_rounding(const std::string& name, const at::Tensor& like, double ours, double source,
                    double factor = kRoundingOfTensor);
  const std::vector<TensorDifference>& rows() const { return rows_; }

 private:
  double rtol_, atol_;
  bool is_half_;
  std::vector<TensorDifference> rows_;
};

struct CompareJob {
  const ReferenceFile& reference;
  const CompareSettings& settings;
  const Registries& registries;
};

/// Builds the component that the file names, loads its weights, runs it and compares.
/// Errors: [reference/metadata] for a kind that has no runs, those of the component.
std::vector<TensorDifference> compare_reference(const CompareJob& job);

/// One per kind; those of encoders and codecs are in compare.cc.
void compare_llm(const CompareJob& job, Comparison& comparison);
void compare_model(const CompareJob& job, Comparison& comparison);

/// The component of the file's name, with options translated from the source's configuration.
template <class T>
std::unique_ptr<T> build_from_reference(const CompareJob& job);

/// Gradients of every parameter by their names in `expected` or else in checkpoints; zeros where
/// there is none.
TensorMap named_grads(Block& block, const NameMap& names, const TensorMap& expected);

/// grad/* of every parameter, by checkpoint names; no gradient counts as zeros.
void compare_grads(Block& block, const NameMap& names, const TensorMap& expected,
                   Comparison& comparison);

/// A table for people, and JSON.
std::string format_differences(const ReferenceFile& reference,
                               const std::vector<TensorDifference>& rows);
std::string differences_json(const ReferenceFile& reference,
                             const std::vector<TensorDifference>& rows);

}  // namespace s2s
