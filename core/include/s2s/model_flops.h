#pragma once
// Floating-point operations of a micro-batch, forward and backward, by formula: what models report
// in BatchWeight. Source: Chowdhery et al. 2022 (arxiv.org/abs/2204.02311), appendix B.

#include <cstdint>
#include <functional>
#include <string>

#include "s2s/kinds/backbone.h"
#include "s2s/kinds/encoder.h"

namespace s2s {

/// Elements of the matrices that are multiplied with at every position.
struct ProductWeights {
  double all = 0;
  double trained = 0;  // of these; their gradient is one more product

  /// Two operations for each element and position in the forward, for the gradient of its input
  /// and, if it trains, for its own.
  double flops(double positions) const { return positions * (4 * all + 2 * trained); }
};

/// Adds each matrix of `model` to the group of its parameter name; null: it is only looked up, or
/// not a part of a step. Matrices of `encoder`, which may be null, are left out.
void count_products(Block& model, Encoder* encoder,
                    const std::function<ProductWeights*(const std::string& name)>& group);

/// Of attention over `pairs` of positions: two products, each with two gradients, 12 L H.
double attention_flops(const BackboneShape& shape, double pairs);

/// Of an encoder; of its forward alone when nothing in it trains.
double encoder_flops(Encoder& encoder, int64_t rows, int64_t num_samples);

}  // namespace s2s
