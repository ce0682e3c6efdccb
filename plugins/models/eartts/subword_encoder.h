#pragma once
// Embeddings of subwords from their characters. Source: NeMo's CharAwareSubwordEncoder.
// Shape letters: B batch, T frames, N subwords, L characters, H hidden, V ids of the tokenizer.

#include <memory>
#include <string>
#include <vector>

#include "char_encoder.h"

namespace s2s::eartts {

/// The texts of a tokenizer's ids, with its marks of word starts.
struct Vocabulary {
  std::vector<std::string> pieces;
  int64_t bos = -1, eos = -1;  // -1: none
};

/// The characters of every subword: those that are subwords of the vocabulary. A character's id is
/// its rank among them.
struct SubwordCharacters {
  at::Tensor ids_VL;     // int64, padded with `count`; one more row for the padding subword
  at::Tensor lengths_V;  // int64
  int64_t count = 0;     // of distinct characters
};
SubwordCharacters characters_of(const std::vector<std::string>& pieces);

/// An embedding by a flag of the id. Row 0 is initialized to zeros.
class FlagEmbedding : public Block {
 public:
  /// flags: by id, int64; the last one is for larger ids. Buffers have NeMo's names.
  FlagEmbedding(at::Tensor flags, const std::string& flags_name, const std::string& table_name,
                int64_t num_flags, int64_t hidden_size);
  ~FlagEmbedding() override;
  at::Tensor operator()(const at::Tensor& ids_BT);

 protected:
  void reset_buffers() override;

 private:
  at::Tensor given_flags_, flags_V_, last_;
  Embedding table_;
};

class SubwordEncoder : public Block {
 public:
  SubwordEncoder(const SubwordOptions& options, const TtsOptions& model,
                 const Vocabulary& vocabulary, int64_t hidden_size);
  ~SubwordEncoder() override;
  /// ids [B, T], mask [B, T] bool (true: has text) -> [B, T, H]. Adds flags at all positions.
  at::Tensor operator()(const at::Tensor& ids_BT, const at::Tensor& mask_BT);

 protected:
  void reset_buffers() override;

 private:
  SubwordCharacters characters_;
  at::Tensor ids_VL_, lengths_V_;  // on the device
  CharEncoder encoder_;
  Embedding embed_tokens_;
  Linear proj_embedding_;
  std::unique_ptr<FlagEmbedding> continues_word_, begins_or_ends_;
};

}  // namespace s2s::eartts
