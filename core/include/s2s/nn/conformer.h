#pragma once
// A stack of Conformer blocks with NeMo's options, parameter names and values. Used as the main
// part of speech encoders, and as a connector between an encoder and a language model. Shape
// letters: B batch, T frames, F features in, H features out.
// Source: NeMo, ConformerEncoder; Gulati et al. 2020 (arxiv.org/abs/2005.08100); relative positions
// as in Transformer-XL (arxiv.org/abs/1901.02860).

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "s2s/config.h"
#include "s2s/nn/block.h"
#include "s2s/options.h"
#include "s2s/parallel/plan.h"

namespace s2s {

/// NeMo's option names and defaults. `check` reports values that would change the result and are
/// not implemented.
struct ConformerOptions {
  int64_t feat_in = 80;
  int64_t feat_out = -1;
  int64_t n_layers = 17;
  int64_t d_model = 512;
  std::string subsampling = "striding";
  int64_t subsampling_factor = 4;
  int64_t subsampling_conv_channels = -1;
  int64_t subsampling_conv_chunking_factor = 1;
  bool causal_downsampling = false;
  std::optional<std::string> reduction;
  std::optional<int64_t> reduction_position;
  int64_t reduction_factor = 1;
  int64_t ff_expansion_factor = 4;
  std::string self_attention_model = "rel_pos";
  int64_t n_heads = 4;
  Config att_context_size;  // [left, right] or a list of such pairs; null: [-1, -1]
  std::vector<double> att_context_probs;
  Config att_chunk_context_size;
  std::string att_context_style = "regular";
  bool xscaling = true;
  bool untie_biases = true;
  int64_t pos_emb_max_len = 5000;
  int64_t conv_kernel_size = 31;
  std::string conv_norm_type = "batch_norm";
  Config conv_context_size;  // causal, or [left, right]; null: half of the kernel on either side
  std::string conv_context_style = "regular";
  bool use_bias = true;
  double dropout = 0.1;
  double dropout_pre_encoder = 0.1;
  double dropout_emb = 0.1;
  double dropout_att = 0.0;
  double stochastic_depth_drop_prob = 0;
  std::string stochastic_depth_mode = "linear";
  int64_t stochastic_depth_start_layer = 1;
  int64_t global_tokens = 0;
  int64_t global_tokens_spacing = 1;
  bool global_attn_separate = false;
  bool use_pytorch_sdpa = false;
  Config use_pytorch_sdpa_backends;
  bool sync_max_audio_length = true;

  void visit(OptionVisitor& v);
  /// Errors: [encoder/unsupported], [encoder/value]; `path` names the options in the config.
  void check(const std::string& path) const;

  using Context = std::array<int64_t, 2>;  // frames to the left and to the right; -1: unlimited
  /// The attention contexts of the options, in frames. Errors: those of `check`.
  std::vector<Context> attention_contexts(const std::string& path) const;
  Context convolution_context(const std::string& path) const;
};

/// A module in streaming mode: frames arrive in chunks.
class FrameStream {
 public:
  virtual ~FrameStream();
  /// x [B, T, F] -> the frames that are now complete, [B, T', H]; T' may be 0.
  virtual at::Tensor push(const at::Tensor& x_BTF) = 0;
  /// Ends the stream and returns the remaining frames.
  virtual at::Tensor finish() = 0;
};

/// Subsampling and Conformer layers, with NeMo's names.
class ConformerEncoder : public Block {
 public:
  /// Errors: those of ConformerOptions::check.
  explicit ConformerEncoder(const ConformerOptions& options, const std::string& path = "encoder");
  ~ConformerEncoder() override;

  /// Output frames, and the number of valid frames per row.
  struct Output {
    at::Tensor features_BTH;
    at::Tensor lengths_B;  // int64
  };
  /// Shapes: x [B, T, F], lengths [B] -> [B, output_frames(T), H] and output_frames(lengths).
  /// Values beyond a row's length are not zero; they equal NeMo's.
  Output forward(const at::Tensor& x_BTF, const at::Tensor& lengths_B);

  /// Number of frames after subsampling, for a length or for a padded width.
  int64_t output_frames(int64_t num_frames) const;
  int64_t output_dim() const;
  int64_t subsampling_factor() const;
  /// See Encoder::select_outputs. Errors: [encoder/layers].
  void select_outputs(const std::vector<int64_t>& layers, bool final_output);
  /// Floating-point operations of the products of one `forward` with `rows` rows of `num_frames`
  /// input frames. Attention counts all pairs of frames, or those of local windows.
  double forward_flops(int64_t rows, int64_t num_frames);
  /// The sharding plan: all modules are replicated on the tensor axis; each layer is a sharded
  /// unit.
  ShardPlan configure_model() const;
  /// Opens a stream. Its frames equal the valid frames of `forward` in eval mode (with the first
  /// context size).
  /// Errors: [encoder/not-streamable] naming the option that looks ahead.
  std::unique_ptr<FrameStream> open_stream(int64_t batch_size);
  /// What NeMo's cache_aware_stream_step keeps after each of its steps over x [B, T, F], of a
  /// stream of ours, for reference files. Step N from 0: "stepN_last_channel" [layers, B, left, H],
  /// "stepN_last_time" [layers, B, H, K - 1], both zero on the left until they are full, and
  /// "stepN_last_channel_len" [B]. Empty without a limit on the left.
  /// Errors: [encoder/not-streamable].
  TensorMap stream_steps(const at::Tensor& x_BTF);

  struct Parts;

 private:
  const at::Tensor& positions(int64_t num_frames);
  std::unique_ptr<Parts> parts_;
};

}  // namespace s2s
