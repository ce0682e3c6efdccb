#include "s2s/nn/perception.h"

#include <ATen/ATen.h>

#include "nn/speech/connector.h"

namespace s2s {
namespace {

/// True if the connector does not end in the language model's width by itself.
bool is_projected(const ModalityAdapterOptions& options) {
  return options.type == "identity" || options.type == "conformer";
}

}  // namespace

Perception::Perception(std::unique_ptr<Encoder> encoder, const ModalityAdapterOptions& adapter,
                       int64_t output_dim)
    : encoder_(std::move(encoder)),
      reads_layers_(adapter.reads_layers()),
      encoder_has_parameters_(!encoder_->named_parameters().empty()) {
  const int64_t dim = encoder_->output_dim();
  if (reads_layers_) {
    encoder_->select_outputs(adapter.target_layer_ids, adapter.include_final_output);
  }
  if (adapter.rote.enabled) {
    rote_ = std::make_unique<RotaryTime>(adapter.rote, dim, encoder_->frame_rate_hz());
  }
  const int64_t input_dim = encoder_->output_dim();
  connector_ = make_connector(adapter, input_dim / dim, input_dim, output_dim);
  register_block("", *encoder_);  // its names (preprocessor, encoder) become names of this block
  if (connector_) register_block("modality_adapter", connector_->block());
  const int64_t width = connector_ ? connector_->output_dim() : input_dim;
  if (is_projected(adapter) && adapter.project) {
    proj_ = std::make_unique<Linear>(width, output_dim);
    register_block("proj", *proj_);
  } else if (width != output_dim) {
    throw_connector("project", "false",
                    "true, because " + std::to_string(width) + " is not the width " +
                        std::to_string(output_dim) + " of the language model");
  }
}

Perception::~Perception() = default;

EncoderOutput Perception::forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B) {
  return adapt(encoder_->forward(audio_BS, lengths_B));
}

at::Tensor Perception::in_own_type(const at::Tensor& features_BTH) {
  if (encoder_has_parameters_) return features_BTH;
  const auto parameters = named_parameters();
  return parameters.empty() ? features_BTH
                            : features_BTH.to(parameters.front().tensor->scalar_type());
}

EncoderOutput Perception::adapt(EncoderOutput out) {
  out.features_BTH = in_own_type(out.features_BTH);
  if (rote_) out.features_BTH = (*rote_)(out.features_BTH, 0);
  if (connector_) {
    Connector::Frames adapted = connector_->connect(out.features_BTH, out.lengths_B);
    out.features_BTH = adapted.features_BTH;
    out.lengths_B = adapted.lengths_B;
  }
  if (proj_) out.features_BTH = (*proj_)(out.features_BTH);
  return out;
}

int64_t Perception::output_frames(int64_t num_samples) const {
  const int64_t frames = encoder_->output_frames(num_samples);
  return connector_ ? connector_->output_frames(frames) : frames;
}

int64_t Perception::output_width(int64_t num_samples) const {
  const int64_t frames = encoder_->output_width(num_samples);
  return connector_ ? connector_->output_frames(frames) : frames;
}

double Perception::frame_rate_hz() const {
  const int64_t stride = connector_ ? connector_->stride() : 1;
  return stride == 0 ? 0 : encoder_->frame_rate_hz() / static_cast<double>(stride);
}

namespace {

/// Encoder, adapter and projection in streaming mode.
class PerceptionStream : public EncoderStream {
 public:
  using Typed = std::function<at::Tensor(const at::Tensor&)>;
  PerceptionStream(std::unique_ptr<EncoderStream> encoder, Typed typed, const RotaryTime* rote,
                   std::unique_ptr<FrameStream> connector, Linear* proj)
      : encoder_(std::move(encoder)),
        typed_(std::move(typed)),
        rote_(rote),
        connector_(std::move(connector)),
        proj_(proj) {}

  at::Tensor push(const at::Tensor& audio_BS) override {
    const at::Tensor frames_BTH = timed(typed_(encoder_->push(audio_BS)));
    return projected(connector_ ? connector_->push(frames_BTH) : frames_BTH);
  }

  at::Tensor finish() override {
    const at::Tensor frames_BTH = timed(typed_(encoder_->finish()));
    if (!connector_) return projected(frames_BTH);
    return projected(at::cat({connector_->push(frames_BTH), connector_->finish()}, 1));
  }

 private:
  at::Tensor timed(const at::Tensor& frames_BTH) {
    const int64_t first = num_frames_;
    num_frames_ += frames_BTH.size(1);
    return rote_ == nullptr ? frames_BTH : (*rote_)(frames_BTH, first);
  }
  at::Tensor projected(const at::Tensor& frames_BTH) {
    return proj_ == nullptr ? frames_BTH : (*proj_)(frames_BTH);
  }

  std::unique_ptr<EncoderStream> encoder_;
  Typed typed_;
  const RotaryTime* rote_;
  std::unique_ptr<FrameStream> connector_;
  Linear* proj_;
  int64_t num_frames_ = 0;  // of the encoder
};

}  // namespace

std::unique_ptr<EncoderStream> Perception::open_stream(int64_t batch_size) {
  std::unique_ptr<FrameStream> connector;
  if (connector_) connector = connector_->open_stream(batch_size);
  return std::make_unique<PerceptionStream>(
      encoder_->open_stream(batch_size),
      [this](const at::Tensor& features_BTH) { return in_own_type(features_BTH); }, rote_.get(),
      std::move(connector), proj_.get());
}

ShardPlan Perception::configure_model(const MeshShape& mesh) const {
  ShardPlan plan = encoder_->configure_model(mesh);
  if (connector_) plan.append(connector_->configure_model("modality_adapter"));
  if (!proj_) return plan;
  plan.rows.push_back({"proj", Style::kReplicate, Layout::kFull, Layout::kFull});
  plan.units.push_back({"proj"});
  return plan;
}

std::vector<NameRule> Perception::checkpoint_rules(const std::string& path) const {
  if (!reads_layers_) return {};
  return {{path + ".encoder.**", path + ".encoder_multilayer.encoder.**"}};
}

}  // namespace s2s
