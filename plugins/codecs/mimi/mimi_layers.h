#pragma once
// The transformer of the codec, which computes piece by piece as the layers of s2s/nn/audio.h do.
// Shape letters: B batch, T positions of the layer, H hidden.

#include <memory>
#include <utility>
#include <vector>

#include "mimi_options.h"
#include "s2s/nn/audio.h"

namespace s2s::mimi {

/// Layers of windowed causal attention and MLPs, each with a norm before and a scale after it.
class MimiTransformer : public Block {
 public:
  explicit MimiTransformer(const MimiOptions& options);
  ~MimiTransformer() override;
  /// [B, H, T] -> [B, H, T].
  at::Tensor push(const at::Tensor& x_BHT, StreamState& state) const;

 private:
  struct Layer;
  at::Tensor attend(const Layer& layer, const at::Tensor& x_BTH,
                    const std::pair<at::Tensor, at::Tensor>& angles, int64_t begin,
                    StreamState& state) const;

  MimiOptions options_;
  std::vector<std::unique_ptr<Layer>> layers_;
};

}  // namespace s2s::mimi
