#pragma once
// Encoder: converts the user's audio to features. Kind `encoder`.

#include <memory>
#include <vector>

#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"
#include "s2s/parallel/plan.h"

namespace s2s {

/// The output of `forward`.
struct EncoderOutput {
  at::Tensor features_BTH;
  at::Tensor lengths_B;  // int64, valid frames per row
  at::Tensor mel_BFT;    // the input features (mel) of the encoder; may be undefined
};

/// State of one live conversation. Pushing audio in chunks returns the frames of the offline
/// forward (eval mode) as soon as the model's look-ahead allows.
class EncoderStream {
 public:
  virtual ~EncoderStream();
  /// audio [B, S] -> the frames that are now complete, [B, T', H]; T' may be 0.
  virtual at::Tensor push(const at::Tensor& audio_BS) = 0;
  /// Ends the stream and returns the remaining frames.
  virtual at::Tensor finish() = 0;
};

/// Converts audio to features for the language model.
class Encoder : public Block {
 public:
  ~Encoder() override;
  /// audio [B, S] float32, lengths [B] int64 samples.
  virtual EncoderOutput forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B) = 0;
  /// Number of valid output frames for a number of samples, as `forward` returns it in lengths_B.
  virtual int64_t output_frames(int64_t num_samples) const = 0;
  /// Width T of the output for a padded batch of this many samples. (NeMo's output is one frame
  /// wider than its longest valid row when the samples fill whole frames.)
  virtual int64_t output_width(int64_t num_samples) const = 0;
  virtual int64_t output_dim() const = 0;
  /// Makes `forward` and streams return the outputs of these layers (0-based, in ascending order;
  /// -1 is the last one) and, with `final_output`, the encoder's own output after them, side by
  /// side in the last dim: H = output_dim() is the sum of their widths, which are equal. Layers
  /// that no output needs are not computed. Called at most once, before the first forward. Errors:
  /// [encoder/layers]; by default always, for an encoder without such outputs.
  virtual void select_outputs(const std::vector<int64_t>& layers, bool final_output);
  /// Floating-point operations of the products of one `forward` with `rows` rows that are padded to
  /// `num_samples`. Default: 2 for each parameter and output frame.
  virtual double forward_flops(int64_t rows, int64_t num_samples);
  virtual int64_t sample_rate_hz() const = 0;
  virtual double frame_rate_hz() const = 0;
  /// Errors: [encoder/not-streamable] when the configuration has unlimited look-ahead.
  virtual std::unique_ptr<EncoderStream> open_stream(int64_t batch_size) = 0;
  virtual ShardPlan configure_model(const MeshShape& mesh) const = 0;
  /// Maps names to those of the original checkpoints. Default: the names are equal.
  virtual NameMap checkpoint_names() const { return {{{"**", "**"}}, {}}; }
};

}  // namespace s2s
