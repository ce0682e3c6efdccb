#pragma once
// The decoder of DuplexS2SSpeechDecoderModel: a causal transformer over the language model's hidden
// states and the previous codes, with NeMo's names and values. Shape letters: B batch, T frames,
// H hidden, D width of the decoder, K codebooks.
// Source: NeMo, TransformerARSpeechDecoder and transformer_2501.

#include <memory>
#include <vector>

#include "s2s/nn/layers.h"
#include "s2s/nn/sequence_state.h"
#include "s2s/parallel/plan.h"
#include "speech_decoder_options.h"

namespace s2s::duplex_s2s {

class SpeechDecoder : public Block {
 public:
  /// num_codes: of each codebook, control codes included.
  SpeechDecoder(const SpeechDecoderOptions& options, int64_t hidden_size, int64_t num_codebooks,
                int64_t num_codes, double audio_embedding_std);
  ~SpeechDecoder() override;

  int64_t num_layers() const { return options_.n_layers; }
  /// Rows of the state for so many conversations: twice as many with guidance.
  int64_t state_rows(int64_t conversations) const {
    return options_.guides() ? 2 * conversations : conversations;
  }

  /// The input of the head, [B, T, D], for hidden states [B, T, H] and the previous codes [B, T,
  /// K]. Without a state: whole conversations; training may drop the hidden states. With a state:
  /// the next frame (T = 1), guided. `rows`: the conversations of the state in this batch; empty:
  /// all. Errors: [model/speech-decoder-length].
  at::Tensor states(const at::Tensor& hidden_BTH, const at::Tensor& codes_BTK,
                    SequenceState* state = nullptr, const std::vector<int64_t>& rows = {});
  void reset(SequenceState& state, int64_t conversation) const;
  /// Maps its output to logits over all codebooks.
  Linear& head() { return final_proj_; }
  /// Rows and units, with paths relative to this block.
  ShardPlan configure_model() const;

 private:
  class Layer;
  at::Tensor embed_codes(const at::Tensor& codes_BTK);
  at::Tensor with_positions(const at::Tensor& x_BTD, const SequenceInfo& info);

  SpeechDecoderOptions options_;
  int64_t num_codebooks_;
  std::unique_ptr<Linear> input_proj_;  // null: equal widths
  std::vector<std::unique_ptr<Embedding>> audio_embeddings_;
  std::unique_ptr<Embedding> position_embeddings_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::unique_ptr<BlockOf<>> norm_out_;  // null: none
  Linear final_proj_;
};

}  // namespace s2s::duplex_s2s
