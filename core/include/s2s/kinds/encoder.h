#pragma once
// Encoder: hears the user. Kind `encoder`.

#include <memory>

#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"
#include "s2s/parallel/plan.h"

namespace s2s {

/// What `forward` makes of a batch.
struct EncoderOutput {
  at::Tensor features_BTH;
  at::Tensor lengths_B;  // int64, valid frames per row
  at::Tensor mel_BFT;    // the front end's features as the encoder saw them; may be undefined
};

/// State of one live conversation. Feeding audio piece by piece gives the frames of the offline
/// forward (eval mode), as soon as the model's look-ahead allows.
class EncoderStream {
 public:
  virtual ~EncoderStream();
  /// audio [B, S] -> the frames that became ready, [B, T', H]; T' may be 0.
  virtual at::Tensor push(const at::Tensor& audio_BS) = 0;
  /// No more audio: the remaining frames.
  virtual at::Tensor finish() = 0;
};

/// Audio to features for the language model.
class Encoder : public Block {
 public:
  ~Encoder() override;
  /// audio [B, S] float32, lengths [B] int64 samples.
  virtual EncoderOutput forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B) = 0;
  /// Valid output frames for a number of samples; what `forward` puts into lengths_B.
  virtual int64_t output_frames(int64_t num_samples) const = 0;
  /// Width T of the output for a padded batch of this many samples (NeMo's is one frame wider than
  /// its longest valid row when the samples fill whole frames).
  virtual int64_t output_width(int64_t num_samples) const = 0;
  virtual int64_t output_dim() const = 0;
  virtual int64_t sample_rate_hz() const = 0;
  virtual double frame_rate_hz() const = 0;
  /// Errors: [encoder/not-streamable] when the configuration looks ahead without bound.
  virtual std::unique_ptr<EncoderStream> open_stream(int64_t batch_size) = 0;
  virtual ShardPlan configure_model(const MeshShape& mesh) const = 0;
  /// Names as in the source's checkpoints. Here: the same names.
  virtual NameMap checkpoint_names() const { return {{{"**", "**"}}, {}}; }
};

}  // namespace s2s
