#pragma once
// The inside of a ConformerEncoder, for its forward and its streams.
// Shape letters: B batch, T frames, P relative positions, H width.

#include <ATen/ATen.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nn/speech/conformer_layer.h"
#include "s2s/nn/conformer.h"

namespace s2s {

/// The sinusoids of the relative positions from `first` down to `last`, inclusive, in float32.
/// Shapes: [first - last + 1, width].   Source: NeMo, RelPositionalEncoding.
at::Tensor relative_positions(int64_t first, int64_t last, int64_t width, at::Device device);

struct ConformerEncoder::Parts {
  ConformerOptions options;
  std::string path;
  std::vector<ConformerOptions::Context> contexts;
  std::unique_ptr<Linear> linear;  // either linear or subsampling is set
  std::unique_ptr<Subsampling> subsampling;
  std::vector<std::unique_ptr<ConformerLayer>> layers;
  std::unique_ptr<Linear> out_proj;  // null without an output projection
  PositionBiases tied;
  ShardPlan plan;
  at::Tensor visible_TT, positions_PH;  // cached for the last shape
  ConformerOptions::Context visible_context{-1, -1};
  std::optional<AttentionWindow> window;  // of rel_pos_local_attn
  /// Elements of the matrices that every frame, and every relative position, is multiplied with.
  struct Matrices {
    double of_frames = 0, of_positions = 0;
  };
  std::optional<Matrices> matrices;  // counted at the first use
  std::set<int64_t> selected;        // layers whose outputs are returned
  bool final_output = true;

  /// False: positions are added to the input (abs_pos).
  bool is_relative() const { return options.self_attention_model != "abs_pos"; }
  /// As in NeMo, layers share position biases with rel_pos only.
  bool is_tied() const {
    return !options.untie_biases && options.self_attention_model == "rel_pos";
  }
  int64_t num_positions(int64_t num_frames) const;
  /// Shapes: [num_positions, H].
  at::Tensor new_positions(int64_t num_frames, at::Device device) const;
  /// Pairs of a query and a key, in one row.
  int64_t seen_pairs(int64_t num_frames) const;
  at::Tensor projected(const at::Tensor& x_BTH) { return out_proj ? (*out_proj)(x_BTH) : x_BTH; }
  /// Layers that some output needs.
  size_t num_used_layers() const {
    return final_output ? layers.size() : static_cast<size_t>(*selected.rbegin()) + 1;
  }
  /// Runs `layer(i, x)` for each used layer. Returns the selected outputs side by side.
  at::Tensor through_layers(at::Tensor x_BTH,
                            const std::function<at::Tensor(size_t, const at::Tensor&)>& layer) {
    std::vector<at::Tensor> outputs;
    for (size_t i = 0; i < num_used_layers(); ++i) {
      x_BTH = layer(i, x_BTH);
      if (selected.contains(static_cast<int64_t>(i))) outputs.push_back(projected(x_BTH));
    }
    if (final_output) outputs.push_back(projected(x_BTH));
    return outputs.size() == 1 ? outputs.front() : at::cat(outputs, -1);
  }

  const at::Tensor& first_weight() const {
    return subsampling ? subsampling->weight() : linear->weight;
  }
};

}  // namespace s2s
