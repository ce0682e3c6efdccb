#pragma once
// Options of CSM, named as in Hugging Face's config.json.

#include <optional>
#include <string>

#include "s2s/model_parts.h"
#include "s2s/nn/decoder_options.h"
#include "s2s/options.h"

namespace s2s::two_level {

/// The decoder of the later books of a frame. Its vocabulary is the model's.
struct CsmDepthOptions : DecoderOptions {
  CsmDepthOptions();
  void visit(OptionVisitor& v);
};

/// The keys of DecoderOptions are the backbone's. vocab_size counts the codes of a codebook.
struct CsmOptions : DecoderOptions {
  CsmOptions();
  int64_t text_vocab_size = 128256;
  int64_t num_codebooks = 32;
  int64_t audio_token_id = 128002;
  int64_t audio_eos_token_id = 128003;
  int64_t codebook_eos_token_id = 0;
  std::optional<int64_t> speaker_id;
  std::optional<int64_t> text_bos_id;
  std::optional<int64_t> text_eos_id;
  bool tie_codebooks_embeddings = true;
  CsmDepthOptions depth_decoder;
  Config codec;
  std::string loss_form = "next_frame";
  double backbone_loss_weight = 1;
  double depth_loss_weight = 1;

  void visit(OptionVisitor& v);
  /// True if losses follow transformers' class.
  bool as_transformers() const { return loss_form == "transformers"; }
};

/// The decoders without embedding and head. Errors: [llm/sizes], [llm/rope-type].
DecoderSpec backbone_spec(const CsmOptions& options, const std::string& path);
DecoderSpec csm_depth_spec(const CsmOptions& options, const std::string& path);

/// Reads config.json as transformers 4 and 5 write it. Errors: [weights/config], all findings of a
/// block together.
Config csm_from_hf(const Config& foreign);
/// Writes config.json for transformers, without the codec.
Config csm_to_hf(const CsmOptions& options);
/// Reads a reference file: losses follow transformers' class unless it sets `loss_form`.
Config csm_reference_options(const Config& foreign);

}  // namespace s2s::two_level
