#pragma once
// Model: what the trainer trains. Kind `model`. A model also implements the interfaces of
// kinds/model_capabilities.h that commands ask it for.

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "s2s/batch.h"
#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"
#include "s2s/parallel/plan.h"

namespace s2s {

/// Losses of one micro-batch. Backward starts from `total`. The other losses are metrics and are
/// normalized like `total`.
struct LossTerms {
  at::Tensor total;
  std::map<std::string, at::Tensor> parts;  // text_loss, audio_loss, ... (detached scalars)
};

/// Counts of a micro-batch, computed before its forward, so that losses can be normalized over a
/// whole optimizer step on all ranks.
struct BatchWeight {
  int64_t frames = 0;         // valid positions of the sequences that the model predicts
  int64_t padded_frames = 0;  // positions including padding, for the padding ratio
  int64_t tokens = 0;         // text and audio tokens that are predicted
  int64_t loss_frames = -1;   // the loss normalizer N; -1: frames
  double audio_s = 0;         // user audio, without padding
  /// Floating-point operations of the products of forward and backward, by formula: those of the
  /// encoder, and those of all other parts. 0: unknown.
  double encoder_flops = 0;
  double model_flops = 0;

  int64_t normalizer() const { return loss_frames < 0 ? frames : loss_frames; }
};

/// Properties of the optimizer step that the losses of a micro-batch depend on.
struct StepContext {
  int64_t step = 0;           // optimizer step, 0-based
  double loss_frames = 0;     // N of the whole step on all ranks (global normalization)
  int64_t micro_batches = 1;  // of this step on all data ranks (local normalization averages them)
  /// Sums numbers over the data ranks, for statistics that a model keeps beside its gradients. All
  /// ranks call it with the same sizes, in the same order. float64 [N] -> float64 [N] on the same
  /// device, bit-identical on all ranks. Empty: there is one rank.
  std::function<at::Tensor(const at::Tensor& numbers)> sum_over_data = {};
};

/// Sums that a validation accumulates over batches: name -> {sum, count}.
using MetricSums = std::map<std::string, std::pair<double, double>>;

/// A trained model. It fixes what its batches hold: a data source provides the tensors of Batch
/// that it reads.
class Model : public Block {
 public:
  ~Model() override;
  /// Counts the positions and tokens of a batch, without a forward.
  virtual BatchWeight weigh(const Batch& batch) = 0;
  /// Forward of one micro-batch in the current mode. The caller runs backward on `total`.
  virtual LossTerms training_loss(const Batch& batch, const StepContext& context) = 0;
  /// Losses and accuracies in eval mode, as sums.
  virtual MetricSums evaluate(const Batch& batch) = 0;
  /// The metrics of a validation set, from the sums of evaluate() over all its batches on all
  /// ranks. Default: sum / count of each, without those whose count is 0.
  virtual std::map<std::string, double> metrics_of(const MetricSums& sums) const;
  /// The names of the metrics of metrics_of(), so that a `monitor` can be checked before the first
  /// step. Default: empty, the names are unknown.
  virtual std::vector<std::string> metric_names() const;
  /// The sharding plan of the whole model. Does not change the model.
  virtual ShardPlan configure_model(const MeshShape& mesh) const = 0;
  /// The parts of the model in the order in which a step runs through them: what makes the input
  /// of the layers, each layer, and what follows them. Each parameter is in one part. Default:
  /// empty, the model runs as one stage.
  virtual std::vector<StagePart> stages();
  /// The names of its tensors in checkpoints of the source that it follows.
  virtual NameMap checkpoint_names() const = 0;
};

}  // namespace s2s
