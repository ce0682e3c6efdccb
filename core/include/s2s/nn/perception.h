#pragma once
// Perception: encoder, modality adapter, projection to the language model's width. Models that hear
// share it.
// Parameter names follow NeMo: preprocessor.*, encoder.*, modality_adapter.*, proj.*.

#include <memory>
#include <string>

#include "s2s/kinds/encoder.h"
#include "s2s/nn/conformer.h"
#include "s2s/nn/layers.h"
#include "s2s/options.h"

namespace s2s {

/// The module between encoder and language model (model.modality_adapter).
struct ModalityAdapterOptions {
  std::string type = "identity";
  Config conformer;  // options of the Conformer stack
  void visit(OptionVisitor& v) {
    v("type", type, "identity, or conformer: a small Conformer without subsampling",
      one_of({"identity", "conformer"}));
    v("conformer", conformer, "options of that Conformer stack (type: conformer)");
  }
};

/// Hears: audio in, frames of the language model's width out.
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
  /// The plans of its parts, with module paths below this block.
  ShardPlan configure_model(const MeshShape& mesh) const;

 private:
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<ConformerEncoder> adapter_;  // null: identity
  Linear proj_;
};

}  // namespace s2s
