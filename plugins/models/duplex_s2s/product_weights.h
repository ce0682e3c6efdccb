#pragma once
// Counts the weights of a model's matrix products, from which its floating-point operations follow.

namespace s2s {
class Block;
}

namespace s2s::duplex {

/// Elements of the matrices that a duplex model multiplies with at every frame, outside its
/// encoder.
struct ProductWeights {
  double all = 0;
  double trained = 0;  // of these; they have a gradient, which is one more product
  bool trains_encoder = false;
};

/// Counts them in a duplex model; `encoder`: a part of it. Look-ups do not count: embeddings,
/// unless `tied_head`, which makes the text embedding a head. Neither does the codec, which is not
/// a part of a training step.
ProductWeights count_product_weights(Block& model, Block& encoder, bool tied_head);

}  // namespace s2s::duplex
