#pragma once
// The decoder of DuplexS2SSpeechDecoderModel: a causal transformer over the language model's hidden
// states and the previous codes, with NeMo's names and values. Shape letters: B batch, T frames,
// H hidden, D width of the decoder, K codebooks.
// Source: NeMo, TransformerARSpeechDecoder and transformer_2501.

#include <memory>
#include <vector>

#include "s2s/kinds/backbone.h"
#include "s2s/nn/layers.h"
#include "s2s/parallel/plan.h"
#include "speech_decoder_options.h"

namespace s2s::duplex {

/// The state of a layer in a conversation: the last frames that its convolutions saw.
struct SpeechLayerMemory {
  at::Tensor ffn_in_BTD, ffn_inner_BTD;
};

class SpeechDecoder : public Block {
 public:
  /// num_codes: of each codebook, control codes included.
  SpeechDecoder(const SpeechDecoderOptions& options, int64_t hidden_size, int64_t num_codebooks,
                int64_t num_codes, double audio_embedding_std);
  ~SpeechDecoder() override;

  /// The state of a conversation. With guidance, its rows are those of the batch twice.
  struct Memory {
    explicit Memory(int64_t num_layers)
        : keys(num_layers), layers(static_cast<size_t>(num_layers)) {}
    KvCache keys;
    std::vector<SpeechLayerMemory> layers;
  };
  int64_t num_layers() const { return options_.n_layers; }

  /// The input of the head, [B, T, D], for hidden states [B, T, H] and the codes [B, T, K] of the
  /// frames before. Without memory: whole conversations, and in training mode the chance to drop
  /// the hidden states. With memory: the next frame (T = 1), guided.
  /// Errors: [model/speech-decoder-length].
  at::Tensor states(const at::Tensor& hidden_BTH, const at::Tensor& codes_BTK,
                    Memory* memory = nullptr);
  /// Its output to logits over all codebooks.
  Linear& head() { return final_proj_; }
  /// Rows and units, with paths relative to this block.
  ShardPlan configure_model() const;

 private:
  class Layer;
  at::Tensor embed_codes(const at::Tensor& codes_BTK);
  at::Tensor with_positions(const at::Tensor& x_BTD, int64_t first);

  SpeechDecoderOptions options_;
  int64_t num_codebooks_;
  std::unique_ptr<Linear> input_proj_;  // null: hidden states have the decoder's width
  std::vector<std::unique_ptr<Embedding>> audio_embeddings_;
  std::unique_ptr<Embedding> position_embeddings_;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::unique_ptr<BlockOf<>> norm_out_;  // null: none
  Linear final_proj_;
};

}  // namespace s2s::duplex
