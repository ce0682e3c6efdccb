#pragma once
// A model kind of your own: what a batch means, the loss, the metrics, and the sharding plan. The
// trainer, checkpoints and every parallel strategy use only what is here. Shape letters: B rows, T
// frames, H width, V vocabulary.

#include <memory>
#include <string>
#include <vector>

#include "s2s/kinds/encoder.h"
#include "s2s/kinds/model.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s/nn/layers.h"
#include "s2s/options.h"

namespace PLUGIN_NAME {

/// The `model` block of a config. `s2s-run plugin inspect COMPONENT_NAME` lists it.
struct Options {
  s2s::Config encoder;
  void visit(s2s::OptionVisitor& v) {
    v("encoder", encoder, "speech encoder: its name and options");
  }
};

/// Predicts the agent's text channel from the user's audio, frame by frame.
class FrameModel : public s2s::Model {
 public:
  FrameModel(const Options& options, std::unique_ptr<s2s::Encoder> encoder,
             const s2s::Tokenizer* tokenizer);
  ~FrameModel() override;

  s2s::BatchWeight weigh(const s2s::Batch& batch) override;
  s2s::LossTerms training_loss(const s2s::Batch& batch, const s2s::StepContext& context) override;
  s2s::MetricSums evaluate(const s2s::Batch& batch) override;
  std::vector<std::string> metric_names() const override;
  s2s::ShardPlan configure_model(const s2s::MeshShape& mesh) const override;
  s2s::NameMap checkpoint_names() const override;

 private:
  struct Frames {
    at::Tensor features_NH;  // of all frames of all rows
    at::Tensor labels_N1;    // int64
    at::Tensor valid_N1;     // float32: 1 for real frames, 0 for padding
  };
  Frames frames_of(const s2s::Batch& batch);

  std::unique_ptr<s2s::Encoder> encoder_;
  s2s::Linear head_;
};

}  // namespace PLUGIN_NAME
