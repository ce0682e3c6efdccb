#pragma once
// CsmModel: a backbone over text and code frames predicts book 0 of the next frame. A depth decoder
// predicts its other books in turn. Results follow transformers' CsmForConditionalGeneration. Shape
// letters: B batch, T positions, K codebooks, H hidden of the backbone, C hidden of the depth
// decoder, N frames that train the depth decoder.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "book_linear.h"
#include "csm_options.h"
#include "s2s/kinds/backbone.h"
#include "s2s/kinds/speaks_turns.h"
#include "s2s/nn/decoder.h"
#include "s2s/nn/token_choice.h"

namespace s2s::two_level {

struct CsmParts {
  std::unique_ptr<Codec> codec;          // null when batches contain codes
  const Tokenizer* tokenizer = nullptr;  // null when batches contain rows
  int64_t text_bos = -1, text_eos = -1;  // -1: none
  double frame_length_s = 0.08;
};

/// Rows of text and frames. A position is a frame if its mask is true, else a text id.
struct CsmRows {
  at::Tensor text_BT, frames_BTK, mask_BT;
  at::Tensor labels_BTK;  // codes, -100: ignored
};

/// A Llama without embedding and head.
class CsmDecoder : public Decoder {
 public:
  explicit CsmDecoder(DecoderSpec spec);
  ShardPlan configure_model(const MeshShape& mesh) const override;
};

class CsmModel : public Model,
                 public SpeaksTurns,
                 public RunsReferences,
                 public MakesProbeBatches,
                 public HasForeignClass,
                 public TakesAdapters {
 public:
  CsmModel(CsmOptions options, CsmParts parts, const std::string& path);
  ~CsmModel() override;

  BatchWeight weigh(const Batch& batch) override;
  LossTerms training_loss(const Batch& batch, const StepContext& context) override;
  MetricSums evaluate(const Batch& batch) override;
  std::vector<std::string> metric_names() const override;
  ShardPlan configure_model(const MeshShape& mesh) const override;
  NameMap checkpoint_names() const override;
  std::vector<StagePart> stages() override {
    return stages_around(*this, "backbone_model", {"depth_decoder"});
  }
  Codec& codec() override;
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;
  std::vector<std::string> decoded_outputs() const override;
  Batch probe_batch(const ProbeBatch& shape) override;
  Config hf_config() const override { return csm_to_hf(options_); }
  ForeignParts foreign_parts() const override;

  std::vector<SpokenAnswer> speak(const std::vector<std::vector<SpokenTurn>>& conversations,
                                  const SpeechOptions& options) override;

 protected:
  std::unique_ptr<WeightSource> initial_values() override;

 private:
  /// Training inputs of the depth decoder.
  struct DepthBatch {
    at::Tensor states_NH;  // at the positions before the frames
    at::Tensor codes_NK;   // -100: unknown
  };
  struct Divisors {
    double first = 0, later = 0;
  };
  CsmRows rows_of(const Batch& batch);
  CsmRows rows_from(const std::map<std::string, at::Tensor>& inputs,
                    const std::string& prefix) const;
  void check_rows(const CsmRows& rows) const;
  CsmRows spoken_rows(const Batch& batch);
  /// One row without a batch dimension: the text, and its frames with the one that ends them.
  CsmRows turn_row(const SpokenTurn& turn, const at::Tensor& codes_TK) const;
  CsmRows conversation_row(const std::vector<SpokenTurn>& turns);
  /// The frames [B, N, K] that follow rows of a reference file, which have the lengths `prefix`lens
  /// if there are any; -1 after the frame that ends a row.
  at::Tensor continue_rows(const std::map<std::string, at::Tensor>& inputs,
                           const std::string& prefix, int64_t count);
  at::Tensor embed_frames(const at::Tensor& frames_BTK);
  at::Tensor embed(const CsmRows& rows);
  DepthBatch depth_batch(const CsmRows& rows, const at::Tensor& hidden_BTH) const;
  /// States of the positions that predict books 1 to K - 1: [N, K - 1, C].
  at::Tensor depth_states(const DepthBatch& batch);
  BookLabels later_labels(const DepthBatch& batch, const at::Tensor& states_NKC) const;
  BookLabels first_labels(const CsmRows& rows, const at::Tensor& hidden_BTH) const;
  LossTerms losses(const CsmRows& rows, const at::Tensor& hidden_BTH, const DepthBatch& depth,
                   const at::Tensor& states_NKC, const Divisors& divisors);
  Divisors class_divisors(const CsmRows& rows) const;
  at::Device device() const { return lm_head_.weight.device(); }

  class Speech;

  CsmOptions options_;
  CsmParts parts_;
  CsmDecoder backbone_;
  Embedding embed_text_tokens_;
  std::unique_ptr<Embedding> backbone_codes_;  // null when tied
  Embedding codes_;  // of the depth decoder; if tied, also of the backbone
  Linear lm_head_;
  CsmDecoder depth_;
  Linear projector_;
  BookLinear codebooks_head_;
  std::vector<NamedTensor> own_;  // tensors of CSM's checkpoints
};

}  // namespace s2s::two_level
