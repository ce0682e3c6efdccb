#pragma once
// Whisper's decoder: a transformer over ids that also attends to an encoder's frames. Its head is
// its embedding. Shape letters: B rows, U ids of a step, P ids so far, T frames, H width, A heads
// of an alignment, V vocabulary.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "s2s/config.h"
#include "s2s/nn/layers.h"
#include "s2s/nn/sequence_state.h"
#include "s2s/nn/transformer.h"

namespace s2s::whisper {

/// Sizes, under the names of config.json.
struct DecoderOptions {
  int64_t d_model = 384;
  int64_t decoder_layers = 4;
  int64_t decoder_attention_heads = 6;
  int64_t decoder_ffn_dim = 1536;
  int64_t vocab_size = 51865;
  int64_t max_target_positions = 448;
  Activation activation = Activation::kGelu;
};

/// Reads config.json; `place` names it. Errors: [weights/config].
DecoderOptions read_decoder(const Config& model, const std::string& place);

/// What the decoder keeps of the rows that it writes.
struct DecoderMemory {
  std::unique_ptr<SequenceState> written;
  std::vector<SeenKeys> heard;  // of the frames, by layer
};

/// Heads of cross attention whose weights are asked for, as (layer, head).
using AlignmentHeads = std::vector<std::pair<int64_t, int64_t>>;

class TextDecoder : public Block {
 public:
  explicit TextDecoder(const DecoderOptions& options);
  ~TextDecoder() override;

  /// Memory of rows that have written nothing, of these frames [B, T, H].
  DecoderMemory listen(const at::Tensor& frames_BTH);
  /// ids [B, U] that follow those in the memory -> scores [B, U, V] of the next ones. With
  /// `weights` also how much each id attends to each frame, [B, A, U, T] in the order of `heads`.
  at::Tensor next_scores(const at::Tensor& ids_BU, DecoderMemory& memory,
                         const AlignmentHeads& heads = {}, at::Tensor* weights = nullptr);

 private:
  class Layer;
  DecoderOptions options_;
  Embedding embed_tokens_, embed_positions_;
  std::vector<std::unique_ptr<Layer>> layers_;
  LayerNorm norm_;
};

}  // namespace s2s::whisper
