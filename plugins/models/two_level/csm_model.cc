#include "csm_model.h"

#include <ATen/ATen.h>

#include "s2s/nn/weights.h"
#include "two_level_errors.h"

namespace s2s::two_level {
namespace {

using enum Layout;
using enum Style;

// clang-format off
std::vector<TensorRow> layer_rows() {
  return {
      {"layers.0",                          kBoundary, kFull, kSeq },
      {"layers.*.input_layernorm",          kSequence, kSeq,  kSeq },
      {"layers.*.self_attn",                kBoundary, kSeq,  kFull},
      {"layers.*.self_attn.q_proj",         kColwise,  kFull, kLast},
      {"layers.*.self_attn.k_proj",         kColwise,  kFull, kLast, "num_key_value_heads"},
      {"layers.*.self_attn.v_proj",         kColwise,  kFull, kLast, "num_key_value_heads"},
      {"layers.*.self_attn.o_proj",         kRowwise,  kLast, kSeq },
      {"layers.*.post_attention_layernorm", kSequence, kSeq,  kSeq },
      {"layers.*.mlp",                      kBoundary, kSeq,  kFull},
      {"layers.*.mlp.gate_proj",            kColwise,  kFull, kLast},
      {"layers.*.mlp.up_proj",              kColwise,  kFull, kLast},
      {"layers.*.mlp.down_proj",            kRowwise,  kLast, kSeq },
      {"norm",                              kSequence, kSeq,  kFull},
  };
}
// clang-format on

constexpr const char* kDepthCodes = "depth_decoder.model.embed_tokens";
constexpr const char* kBackboneCodes = "backbone_model.embed_tokens.embed_audio_tokens";

}  // namespace

CsmDecoder::CsmDecoder(DecoderSpec spec) : Decoder(std::move(spec)) {
  release_block("embed_tokens");
}

ShardPlan CsmDecoder::configure_model(const MeshShape&) const {
  ShardPlan plan;
  plan.rows = layer_rows();
  plan.units = {{"layers.*"}};
  plan.divisors = {{"num_attention_heads", shape().num_attention_heads},
                   {"num_key_value_heads", shape().num_key_value_heads},
                   {"intermediate_size", shape().intermediate_size}};
  for (int64_t i = 0; i < shape().num_layers; ++i) {
    plan.attentions.push_back({"layers." + std::to_string(i) + ".self_attn",
                               shape().num_attention_heads, shape().num_key_value_heads,
                               shape().head_dim});
  }
  return plan;
}

CsmModel::CsmModel(CsmOptions options, CsmParts parts, const std::string& path)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      backbone_(backbone_spec(options_, path)),
      embed_text_tokens_(options_.text_vocab_size, options_.hidden_size,
                         {Init::Kind::kNormal, options_.initializer_range}),
      codes_(options_.num_codebooks * options_.vocab_size, options_.hidden_size,
             {Init::Kind::kNormal, options_.initializer_range}),
      lm_head_(options_.hidden_size, options_.vocab_size, false,
               Init{Init::Kind::kNormal, options_.initializer_range}),
      depth_(csm_depth_spec(options_, path)),
      projector_(options_.hidden_size, options_.depth_decoder.hidden_size, false,
                 Init{Init::Kind::kNormal, options_.initializer_range}),
      codebooks_head_(options_.num_codebooks - 1, options_.depth_decoder.hidden_size,
                      options_.vocab_size, {Init::Kind::kNormal, options_.initializer_range},
                      BookLinear::Order::kInputsFirst) {
  register_block("embed_text_tokens", embed_text_tokens_);
  if (!options_.tie_codebooks_embeddings) {
    backbone_codes_ = std::make_unique<Embedding>(
        options_.num_codebooks * options_.vocab_size, options_.hidden_size,
        Init{Init::Kind::kNormal, options_.initializer_range});
    register_block(kBackboneCodes, *backbone_codes_);
  }
  register_block("backbone_model", backbone_);
  register_block("lm_head", lm_head_);
  register_block(kDepthCodes, codes_);
  register_block("depth_decoder.model.inputs_embeds_projector", projector_);
  register_block("depth_decoder.model", depth_);
  register_block("depth_decoder.codebooks_head", codebooks_head_);
  own_ = named_parameters();
  if (parts_.codec) register_block("audio_codec", *parts_.codec);
}

CsmModel::~CsmModel() = default;

std::unique_ptr<WeightSource> CsmModel::initial_values() {
  if (!options_.path) return nullptr;
  return weight_source(own_, checkpoint_names(), WeightFiles::open(*options_.path));
}

NameMap CsmModel::checkpoint_names() const {
  NameMap names;
  names.rules.push_back({"**", "**"});
  names.ignored = {"codec_model.**", "audio_codec.**",
                   "backbone_model.embed_tokens.audio_tokens_offsets"};
  if (!options_.tie_codebooks_embeddings) return names;
  const std::string weight = ".weight";
  names.other_spellings = {{kDepthCodes + weight, kBackboneCodes + weight}};
  names.ignored.push_back(kBackboneCodes + weight);
  return names;
}

ForeignParts CsmModel::foreign_parts() const {
  // The keys of the codec come first.
  return {{"codec_config", "codebook_pad_token_id", "pad_token_id", "bos_token_id", "eos_token_id"},
          {"codec_model.**"}};
}

ShardPlan CsmModel::configure_model(const MeshShape& mesh) const {
  // Every tensor rank holds the code tables and the depth decoder whole: books depend on each
  // other, and both decoders look codes up.
  ShardPlan plan;
  plan.rows = {{"embed_text_tokens", kVocab, kFull, kFull}};
  plan.units = {{"embed_text_tokens"}};
  if (backbone_codes_) {
    plan.rows.push_back({kBackboneCodes, kReplicate, kFull, kFull});
    plan.units.push_back({kBackboneCodes});
  }
  plan.units.push_back({kDepthCodes});
  plan.append(backbone_.configure_model(mesh).nested_under("backbone_model"));
  plan.rows.push_back({"lm_head", kVocab, kFull, kLast});
  plan.rows.push_back({"depth_decoder.model", kReplicate, kFull, kFull});
  plan.rows.push_back({"depth_decoder.codebooks_head", kReplicate, kFull, kFull});
  for (const char* unit : {"lm_head", "depth_decoder.model.inputs_embeds_projector",
                           "depth_decoder.model.layers.*", "depth_decoder.codebooks_head"}) {
    plan.units.push_back({unit});
  }
  plan.heads = {{"lm_head"}, {"depth_decoder.codebooks_head"}};
  return plan;
}

Codec& CsmModel::codec() {
  if (!parts_.codec) throw no_codec_error("the codes of audio");
  return *parts_.codec;
}

at::Tensor CsmModel::embed_frames(const at::Tensor& frames_BTK) {
  Embedding& table = backbone_codes_ ? *backbone_codes_ : codes_;
  const at::Tensor offsets_K =
      at::arange(options_.num_codebooks, frames_BTK.options()) * options_.vocab_size;
  return table(frames_BTK + offsets_K).sum(2);
}

at::Tensor CsmModel::embed(const CsmRows& rows) {
  const at::Tensor frames_BTH = embed_frames(rows.frames_BTK);
  // Text ids of frames are placeholders and may exceed the table.
  const at::Tensor text_BTH = embed_text_tokens_(rows.text_BT.masked_fill(rows.mask_BT, 0));
  return at::where(rows.mask_BT.unsqueeze(-1), frames_BTH, text_BTH);
}

CsmModel::DepthBatch CsmModel::depth_batch(const CsmRows& rows,
                                           const at::Tensor& hidden_BTH) const {
  const int64_t width = rows.labels_BTK.size(1);
  const int64_t books = rows.labels_BTK.size(2);
  // Nothing precedes the first column to predict it.
  const at::Tensor labels_BTK = rows.labels_BTK.narrow(1, 1, width - 1);
  const at::Tensor trained = labels_BTK.narrow(2, 1, books - 1).ne(-100).any(2).flatten();
  at::Tensor chosen_N = trained.nonzero().squeeze(1);
  // Attention needs a row; this one has no weight.
  if (chosen_N.numel() == 0) chosen_N = at::zeros({1}, chosen_N.options());
  return {hidden_BTH.narrow(1, 0, width - 1).flatten(0, 1).index_select(0, chosen_N),
          labels_BTK.flatten(0, 1).index_select(0, chosen_N)};
}

at::Tensor CsmModel::depth_states(const DepthBatch& batch) {
  const int64_t later = options_.num_codebooks - 1;
  const at::Tensor offsets_K = at::arange(later, batch.codes_NK.options()) * options_.vocab_size;
  const at::Tensor codes_NKH = codes_(batch.codes_NK.narrow(1, 0, later).clamp_min(0) + offsets_K);
  const at::Tensor x_NKH = at::cat({batch.states_NH.unsqueeze(1), codes_NKH}, 1);
  return depth_(projector_(x_NKH), SequenceInfo{}).narrow(1, 1, later);
}

BookLabels CsmModel::later_labels(const DepthBatch& batch, const at::Tensor& states_NKC) const {
  const at::Tensor labels_NK = batch.codes_NK.narrow(1, 1, options_.num_codebooks - 1);
  return {states_NKC, labels_NK.clamp_min(0), labels_NK.ne(-100).to(at::kFloat)};
}

BookLabels CsmModel::first_labels(const CsmRows& rows, const at::Tensor& hidden_BTH) const {
  const int64_t width = rows.labels_BTK.size(1);
  const at::Tensor labels_N1 =
      rows.labels_BTK.select(2, 0).narrow(1, 1, width - 1).reshape({-1, 1});
  return {hidden_BTH.narrow(1, 0, width - 1).flatten(0, 1).unsqueeze(1), labels_N1.clamp_min(0),
          labels_N1.ne(-100).to(at::kFloat)};
}

}  // namespace s2s::two_level
