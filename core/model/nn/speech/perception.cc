#include "s2s/nn/perception.h"

#include <ATen/ATen.h>

namespace s2s {
namespace {

std::unique_ptr<ConformerEncoder> build_adapter(const ModalityAdapterOptions& options) {
  if (options.type == "identity") return nullptr;
  const std::string path = "model.modality_adapter.conformer";
  return std::make_unique<ConformerEncoder>(read_options<ConformerOptions>(options.conformer, path),
                                            path);
}

}  // namespace

Perception::Perception(std::unique_ptr<Encoder> encoder, const ModalityAdapterOptions& adapter,
                       int64_t output_dim)
    : encoder_(std::move(encoder)),
      adapter_(build_adapter(adapter)),
      proj_(adapter_ ? adapter_->output_dim() : encoder_->output_dim(), output_dim) {
  register_block("", *encoder_);  // its names (preprocessor, encoder) become names of this block
  if (adapter_) register_block("modality_adapter", *adapter_);
  register_block("proj", proj_);
}

Perception::~Perception() = default;

EncoderOutput Perception::forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B) {
  EncoderOutput out = encoder_->forward(audio_BS, lengths_B);
  if (adapter_) {
    ConformerEncoder::Output adapted = adapter_->forward(out.features_BTH, out.lengths_B);
    out.features_BTH = adapted.features_BTH;
    out.lengths_B = adapted.lengths_B;
  }
  out.features_BTH = proj_(out.features_BTH);
  return out;
}

namespace {

/// Encoder, adapter and projection in streaming mode.
class PerceptionStream : public EncoderStream {
 public:
  PerceptionStream(std::unique_ptr<EncoderStream> encoder, std::unique_ptr<ConformerStream> adapter,
                   Linear& proj)
      : encoder_(std::move(encoder)), adapter_(std::move(adapter)), proj_(proj) {}

  at::Tensor push(const at::Tensor& audio_BS) override {
    const at::Tensor frames_BTH = encoder_->push(audio_BS);
    return proj_(adapter_ ? adapter_->push(frames_BTH) : frames_BTH);
  }

  at::Tensor finish() override {
    const at::Tensor frames_BTH = encoder_->finish();
    if (!adapter_) return proj_(frames_BTH);
    return proj_(at::cat({adapter_->push(frames_BTH), adapter_->finish()}, 1));
  }

 private:
  std::unique_ptr<EncoderStream> encoder_;
  std::unique_ptr<ConformerStream> adapter_;
  Linear& proj_;
};

}  // namespace

std::unique_ptr<EncoderStream> Perception::open_stream(int64_t batch_size) {
  std::unique_ptr<EncoderStream> encoder = encoder_->open_stream(batch_size);
  std::unique_ptr<ConformerStream> adapter;
  if (adapter_) adapter = adapter_->open_stream(batch_size);
  return std::make_unique<PerceptionStream>(std::move(encoder), std::move(adapter), proj_);
}

ShardPlan Perception::configure_model(const MeshShape& mesh) const {
  ShardPlan plan = encoder_->configure_model(mesh);
  if (adapter_) plan.append(adapter_->configure_model().nested_under("modality_adapter"));
  plan.rows.push_back({"proj", Style::kReplicate, Layout::kFull, Layout::kFull});
  plan.units.push_back({"proj"});
  return plan;
}

}  // namespace s2s
