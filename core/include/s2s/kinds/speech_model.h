#pragma once
// SpeechModel: the model that is trained. Kind `model`.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "s2s/batch.h"
#include "s2s/kinds/codec.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"
#include "s2s/parallel/plan.h"

namespace s2s {

class Backbone;
struct SamplingOptions;

/// Losses of one micro-batch. Backward starts from `total`. The other losses are metrics and are
/// normalized like `total`.
struct LossTerms {
  at::Tensor total;
  std::map<std::string, at::Tensor> parts;  // text_loss, audio_loss, ... (detached scalars)
};

/// Counts of a micro-batch, computed before its forward, so that losses can be normalized over a
/// whole optimizer step on all ranks.
struct BatchWeight {
  int64_t frames = 0;         // the loss normalizer N: valid frames minus one, summed over rows
  int64_t padded_frames = 0;  // frames including padding, for the padding ratio
  int64_t tokens = 0;         // text and audio tokens that are predicted
  double audio_s = 0;         // user audio, without padding
  /// Floating-point operations of the products of forward and backward, by formula: those of the
  /// encoder, and those of all other parts. 0: unknown.
  double encoder_flops = 0;
  double model_flops = 0;
};

/// Properties of the optimizer step that the losses of a micro-batch depend on.
struct StepContext {
  int64_t step = 0;           // optimizer step, 0-based
  double loss_frames = 0;     // valid frames of the whole step on all ranks (global normalization)
  int64_t micro_batches = 1;  // of this step on all data ranks (local normalization averages them)
};

/// Sums that a validation accumulates over batches: name -> {sum, count}.
using MetricSums = std::map<std::string, std::pair<double, double>>;

/// The model's answers to a batch. B rows, T frames, K codebooks, S samples.
struct Generation {
  std::vector<std::string> text;  // decoded text channel, per row
  at::Tensor tokens_text_BT;      // int64
  at::Tensor tokens_audio_BTK;    // int64, control tokens included
  at::Tensor token_lens_B;        // int64
  at::Tensor audio_BS;            // float32 at the codec's rate; undefined if not requested
  at::Tensor audio_lens_B;
};

/// One live conversation (batch of one): user audio in, agent audio and text out.
class DuplexSession {
 public:
  /// The new output of one call.
  struct Output {
    at::Tensor audio_S;                // new agent samples at the codec's rate, may be empty
    std::vector<int64_t> text_tokens;  // one per new frame
    at::Tensor codes_TK;               // codec tokens of the same frames
  };
  virtual ~DuplexSession();
  /// samples [S] float32 at the encoder's rate.
  virtual Output push(const at::Tensor& samples_S) = 0;
  virtual Output finish() = 0;
};

/// A duplex speech model: listens to the user, speaks, and writes text.
class SpeechModel : public Block {
 public:
  ~SpeechModel() override;
  /// Counts the frames and tokens of a batch, without a forward.
  virtual BatchWeight weigh(const Batch& batch) = 0;
  /// Forward of one micro-batch in the current mode. The caller runs backward on `total`.
  virtual LossTerms training_loss(const Batch& batch, const StepContext& context) = 0;
  /// Losses and accuracies in eval mode, as sums.
  virtual MetricSums evaluate(const Batch& batch) = 0;
  /// Sets how generate() and sessions that are opened later choose the tokens of both channels.
  /// Default: greedy. Repetition penalties apply to the words of the text channel only. Each call
  /// and each session starts a new random stream from the seed.
  virtual void choose_tokens_by(const SamplingOptions& sampling) = 0;
  /// Source audio [B, S] and lengths [B].
  virtual Generation generate(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                              bool decode_audio) = 0;
  virtual std::unique_ptr<DuplexSession> open_session() = 0;
  virtual Codec& codec() = 0;
  /// The language model, a descendant of this block. Default: null, there is none.
  virtual Backbone* language_model();
  virtual const Tokenizer& tokenizer() const = 0;
  virtual ShardPlan configure_model(const MeshShape& mesh) const = 0;
  virtual NameMap checkpoint_names() const = 0;
  /// Runs the model on the inputs of a reference file (core/docs: reference files); names have no
  /// "input/" and "output/" prefixes. `training` true: computes a training step in the reference's
  /// train mode and keeps the graph (mel, perception, text_logits, audio_logits, text_loss,
  /// audio_loss, loss). False: greedy decoding in eval mode (tokens_text [B, T], tokens_audio [B,
  /// T, K]).
  virtual std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) = 0;
  virtual double frame_length_s() const = 0;
  virtual int64_t source_sample_rate_hz() const = 0;
  /// The names of the metrics of evaluate(), so that a `monitor` can be checked before the first
  /// step. Default: empty, the names are unknown.
  virtual std::vector<std::string> metric_names() const;
};

}  // namespace s2s
