#pragma once
// AsrModel: a speech recognizer in training: an encoder, and a transducer or CTC that reads its
// frames. Losses follow NeMo's EncDecRNNTModel, EncDecCTCModel and EncDecHybridRNNTCTCModel. Shape
// letters: B rows, S samples, T frames, H width of the encoder, U labels, V labels and the blank.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "asr_options.h"
#include "s2s/kinds/encoder.h"
#include "s2s/kinds/model.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s/nn/transducer.h"

namespace s2s::asr {

struct AsrParts {
  std::unique_ptr<Encoder> encoder;
  const Tokenizer* tokenizer = nullptr;  // may be null with num_labels; then texts are labels
  int64_t num_labels = 0;                // without the blank
  std::string base_dir;                  // of options.path
};

class AsrModel : public Model, public RunsReferences, public MakesProbeBatches {
 public:
  AsrModel(AsrOptions options, AsrParts parts);
  ~AsrModel() override;

  BatchWeight weigh(const Batch& batch) override;
  LossTerms training_loss(const Batch& batch, const StepContext& context) override;
  /// The loss, and the word errors of what is read greedily. `wer`: errors by words of the texts.
  MetricSums evaluate(const Batch& batch) override;
  std::vector<std::string> metric_names() const override;
  ShardPlan configure_model(const MeshShape& mesh) const override;
  NameMap checkpoint_names() const override;

  /// Inputs: source_audio [B, S], source_audio_lens, labels [B, U], label_lengths.
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;
  std::vector<std::string> decoded_outputs() const override;

  Batch probe_batch(const ProbeBatch& shape) override;

 protected:
  std::unique_ptr<WeightSource> initial_values() override;

 private:
  /// Labels of the rows [B, U], with zeros beyond each length [B], on the host.
  struct Texts {
    at::Tensor labels_BU, lengths_B;
  };
  /// Of Batch::others (labels, label_lengths), or of the user's turns.
  Texts texts_of(const Batch& batch) const;
  /// The losses of the rows [B]; undefined: there is no such decoder.
  struct Losses {
    at::Tensor transducer_B, ctc_B;
  };
  Losses losses(const EncoderOutput& heard, const Texts& texts);
  /// The rows as the reduction weighs them, to be divided by its count.
  at::Tensor weighted(const at::Tensor& losses_B, const Texts& texts) const;
  double count(const Texts& texts) const;
  at::Tensor sum_of(const Losses& losses, const Texts& texts) const;
  std::vector<std::vector<int64_t>> search(const EncoderOutput& heard);
  double frame_flops(int64_t rows, int64_t frames, int64_t labels);

  AsrOptions options_;
  AsrParts parts_;
  std::unique_ptr<TransducerDecoder> transducer_;
  std::unique_ptr<CtcHead> ctc_;
};

}  // namespace s2s::asr
