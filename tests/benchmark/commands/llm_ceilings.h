#pragma once
// What the device gives the parts of a language model's step one by one: the ceilings that a whole
// step is held against. They are measured where and when the step is measured.

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/kinds/backbone.h"

namespace s2s::run {

/// The sizes of what is measured. `type`: of the elements.
struct LlmSizes {
  BackboneShape shape;
  int64_t rows = 1;
  int64_t positions = 1;
  at::ScalarType type = at::kFloat;
  int64_t tokens() const { return rows * positions; }
};

/// Floating-point operations of one step's products, forward and backward.
struct LlmWork {
  /// 6 for each weight of a product and token, and attention over all pairs of positions (12 L H S
  /// for each token).
  double full = 0;
  /// The same with the half of the pairs that a causal mask leaves (6 L H S).
  double causal = 0;
};
/// The head counts as a product, the embedding does not. What is recomputed does not count.
LlmWork llm_work(const LlmSizes& sizes);

/// One product of the model: [rows, inner] x [inner, columns]. Units: seconds for each call.
struct ProductTimes {
  std::string name;
  int64_t rows = 0, inner = 0, columns = 0;
  int64_t per_step = 1;  // how often a step has it
  double forward_s = 0, input_gradient_s = 0, weight_gradient_s = 0;

  double sum_s() const { return forward_s + input_gradient_s + weight_gradient_s; }
  /// TFLOP/s of a third that took `seconds`.
  double teraflops(double seconds) const;
};

/// An element-wise part of the model, held against the copy rate. Units: bytes, seconds.
struct PassTimes {
  std::string name;
  double forward_bytes = 0, backward_bytes = 0;  // what has to be read and written at least
  double forward_s = 0, backward_s = 0;
};

struct Ceilings {
  double copy_bytes_per_s = 0;  // read and written
  int64_t square_size = 0;      // of a product of two square matrices
  double square_teraflops = 0;
  std::vector<ProductTimes> products;
  double attention_forward_s = 0, attention_s = 0;  // of one layer; forward and both ways
  std::vector<PassTimes> passes;
  /// The fastest product. On some CPUs the square one is none of the fast ones.
  double best_teraflops() const;
  /// Seconds of a step that had nothing but its products and attention, at these rates.
  double attainable_s = 0;
};

/// Measures all of them. Takes seconds on a GPU, and memory for the largest product.
Ceilings measure_ceilings(const LlmSizes& sizes, at::Device device);

}  // namespace s2s::run
