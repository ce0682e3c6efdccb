#pragma once
// Perception: encoder, modality adapter, projection to the language model's width.
// Parameter names follow NeMo: preprocessor.*, encoder.*, modality_adapter.*, proj.*.

#include <memory>

#include "duplex_options.h"
#include "s2s/kinds/encoder.h"
#include "s2s/nn/conformer.h"
#include "s2s/nn/layers.h"

namespace s2s::duplex {

class Perception : public Block {
 public:
  /// The projection maps the adapter's width to `output_dim`.
  Perception(std::unique_ptr<Encoder> encoder, const ModalityAdapterOptions& adapter,
             int64_t output_dim);
  ~Perception() override;

  /// audio [B, S], lengths [B] samples -> features [B, T, H], lengths [B] frames, mel [B, F, T'].
  EncoderOutput forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B);
  /// A live stream of the same frames (eval mode).
  std::unique_ptr<EncoderStream> open_stream(int64_t batch_size);

  const Encoder& encoder() const { return *encoder_; }
  Encoder& encoder() { return *encoder_; }
  ShardPlan configure_model(const MeshShape& mesh) const;

 private:
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<ConformerEncoder> adapter_;  // null: identity
  Linear proj_;
};

}  // namespace s2s::duplex
