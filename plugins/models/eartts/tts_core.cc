#include "tts_core.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

namespace s2s::eartts {
namespace {

/// NeMo divides by this number, whatever the number of books: its constructor passes the number of
/// books as the previous parameter (final_norm).
constexpr double kFusionDivisor = 31;
constexpr double kFusionStd = 0.015;
constexpr double kFusionEps = 1e-6;

/// x [B, T] bool, moved one frame to the right, with false in front.
at::Tensor one_later(const at::Tensor& x_BT) {
  return at::constant_pad_nd(x_BT.slice(1, 0, x_BT.size(1) - 1), {1, 0}, 0);
}

at::Tensor twice(const at::Tensor& x) { return x.defined() ? at::cat({x, x}, 0) : x; }

}  // namespace

GatedFusion::GatedFusion(int64_t hidden_size)
    : audio_proj_(hidden_size, hidden_size, true, Init{Init::Kind::kNormal, kFusionStd}),
      text_proj_(hidden_size, hidden_size, true, Init{Init::Kind::kNormal, kFusionStd}),
      final_norm_(hidden_size, kFusionEps, NormWeight::kAddedToOne) {
  register_parameter("gate", gate_, {hidden_size}, {Init::Kind::kZeros, 0});
  register_parameter("residual_scale", residual_scale_, {}, {Init::Kind::kZeros, 0});
  register_block("audio_proj", audio_proj_);
  register_block("text_proj", text_proj_);
  register_block("final_norm", final_norm_);
}

GatedFusion::~GatedFusion() = default;

at::Tensor GatedFusion::operator()(const at::Tensor& audio_BTH, const at::Tensor& text_BTH) {
  const at::Tensor audio = audio_proj_(audio_BTH / kFusionDivisor);
  const at::Tensor text = text_proj_(text_BTH);
  const at::Tensor gate = gate_.to(at::kFloat).sigmoid();
  const at::Tensor scale = residual_scale_.to(at::kFloat).sigmoid();
  const auto type = audio.scalar_type();
  return final_norm_(scale.to(type) * (gate.to(type) * audio + (1 - gate).to(type) * text));
}

Marks::Marks(int64_t hidden_size) {
  register_parameter("bos_emb", bos_emb, {hidden_size}, {Init::Kind::kNormal, 1.0});
  register_parameter("null_emb", null_emb, {hidden_size}, {Init::Kind::kNormal, 1.0});
}

Marks::~Marks() = default;

TtsCore::TtsCore(const TtsOptions& options, std::unique_ptr<Backbone> backbone,
                 const Vocabulary& vocabulary)
    : options_(options),
      backbone_(std::move(backbone)),
      marks_(hidden_size()),
      embed_code_(options.latent_size, hidden_size(), /*bias=*/false),
      mog_head_(hidden_size(), options.latent_size, options.mog_head_config) {
  // The backbone embeds and predicts no words.
  for (const char* part : {"embed_tokens", "lm_head"}) {
    if (backbone_->find_block(part) != nullptr) backbone_->release_block(part);
  }
  register_block("backbone", *backbone_);
  register_block("marks", marks_);
  if (options.random_target_masking) {
    embed_target_mask_ = std::make_unique<Embedding>(options.num_quantizers, hidden_size());
    register_block("embed_target_mask", *embed_target_mask_);
  }
  register_block("embed_code", embed_code_);
  if (options.context_hidden_size) {
    embed_context_ =
        std::make_unique<Linear>(*options.context_hidden_size, hidden_size(), /*bias=*/false);
    register_block("embed_context", *embed_context_);
  }
  if (const auto subword = subword_options_of(options.cas_config, "model")) {
    embed_subword_ = std::make_unique<SubwordEncoder>(*subword, options, vocabulary, hidden_size());
    register_block("embed_subword", *embed_subword_);
  }
  if (options.use_gated_fusion_for_text_audio) {
    fusion_ = std::make_unique<GatedFusion>(hidden_size());
    register_block("gated_fusion_audio_text", *fusion_);
  }
  if (!options.disable_eos_prediction) {
    lm_head_ = std::make_unique<Linear>(hidden_size(), 2, /*bias=*/false);
    register_block("lm_head", *lm_head_);
  }
  register_block("mog_head", mog_head_);
  register_buffer("rvq_embs", books_KCD_);
  if (options.use_audio_prompt_frozen_projection) {
    register_buffer("audio_prompt_projection_W", prompt_projection_HH_);
  }
  TtsCore::reset_buffers();
}

TtsCore::~TtsCore() = default;

void TtsCore::reset_buffers() {
  books_KCD_ = at::zeros({options_.num_quantizers, options_.codebook_size, options_.latent_size},
                         at::kFloat);
  if (!options_.use_audio_prompt_frozen_projection) return;
  // Two random rotations around random factors from 0.4 to 2.5.
  auto generator = at::make_generator<at::CPUGeneratorImpl>(uint64_t{0});
  const auto rotation = [&] {
    const at::Tensor drawn = at::empty({hidden_size(), hidden_size()}).normal_(0, 1, generator);
    return std::get<0>(at::linalg_qr(drawn));
  };
  const at::Tensor first = rotation(), last = rotation();
  const at::Tensor factors = at::empty({hidden_size()}).uniform_(0.4, 2.5, generator);
  prompt_projection_HH_ = at::matmul(first * factors, last.t());
}

void TtsCore::set_books(const at::Tensor& books_KCD) {
  S2S_ASSERT(books_KCD.sizes() == books_KCD_.sizes(), "the builder compared the codec's sizes");
  books_KCD_ = books_KCD.detach().to(books_KCD_.device(), at::kFloat).clone();
}

bool TtsCore::has_books() const { return books_KCD_.ne(0).any().item<bool>(); }

at::Tensor TtsCore::latents(const at::Tensor& code_BTK) const {
  at::Tensor sum_BTD;
  for (int64_t k = 0; k < code_BTK.size(-1); ++k) {
    // The id after the last code is an empty book.
    const at::Tensor table_CD = at::constant_pad_nd(books_KCD_[k], {0, 0, 0, 1});
    const at::Tensor row_BTD = at::embedding(table_CD, code_BTK.select(-1, k));
    sum_BTD = sum_BTD.defined() ? sum_BTD + row_BTD : row_BTD;
  }
  return sum_BTD.to(embed_code_.weight.scalar_type());
}

at::Tensor TtsCore::code_inputs(const at::Tensor& code_BTK, const at::Tensor& audio_mask_BT) {
  const at::Tensor past_BTK =
      at::constant_pad_nd(code_BTK.slice(1, 0, code_BTK.size(1) - 1), {0, 0, 1, 0}, 0);
  at::Tensor code_BTH = embed_code_(latents(past_BTK));
  const at::Tensor begins_BT1 =
      audio_mask_BT.logical_and(one_later(audio_mask_BT).logical_not()).unsqueeze(-1);
  if (options_.use_audio_prompt_frozen_projection) {
    const at::Tensor is_prompt_BT1 = begins_BT1.cumsum(1).eq(0);
    const at::Tensor voice_BTH =
        at::matmul(code_BTH, prompt_projection_HH_.to(code_BTH.scalar_type()));
    code_BTH = at::where(is_prompt_BT1, voice_BTH, code_BTH);
  }
  return code_BTH + begins_BT1 * marks_.bos_emb;
}

at::Tensor TtsCore::condition(const TtsInputs& inputs, const at::Tensor& uncond_B11) {
  at::Tensor sum = at::zeros({1, 1, hidden_size()}, embed_code_.weight.options());
  if (embed_context_ && inputs.context_BTU.defined()) {
    sum = sum + (*embed_context_)(inputs.context_BTU);
  }
  if (embed_subword_ && inputs.subword_ids_BT.defined()) {
    at::Tensor mask_BT = inputs.subword_mask_BT;
    if (!mask_BT.defined() && inputs.context_BTU.defined()) {
      mask_BT = inputs.context_BTU.ne(0).any(-1);
    }
    if (mask_BT.defined() && mask_BT.any().item<bool>()) {
      sum = sum + (*embed_subword_)(inputs.subword_ids_BT, mask_BT);
    }
  }
  return at::where(uncond_B11, marks_.null_emb, sum);
}

at::Tensor TtsCore::states(const at::Tensor& code_BTH, const TtsInputs& inputs,
                           const at::Tensor& uncond_B11, SequenceState* state) {
  const at::Tensor text_BTH = condition(inputs, uncond_B11);
  const at::Tensor x_BTH = fusion_ ? (*fusion_)(code_BTH, text_BTH) : code_BTH + text_BTH;
  SequenceInfo info;
  info.state = state;
  return (*backbone_)(x_BTH, info);
}

at::Tensor TtsCore::guided_states(at::Tensor code_BTH, TtsInputs inputs, bool guided,
                                  SequenceState* state) {
  at::Tensor uncond_B11 = at::zeros({code_BTH.size(0), 1, 1}, code_BTH.options().dtype(at::kBool));
  if (guided) {
    uncond_B11 = at::cat({uncond_B11, uncond_B11.logical_not()}, 0);
    code_BTH = twice(code_BTH);
    for (at::Tensor* part :
         {&inputs.context_BTU, &inputs.subword_ids_BT, &inputs.subword_mask_BT}) {
      *part = twice(*part);
    }
  }
  return states(code_BTH, inputs, uncond_B11, state);
}

at::Tensor TtsCore::prompt_states(const TtsInputs& inputs, bool guided, SequenceState* state) {
  return guided_states(code_inputs(inputs.code_BTK, inputs.audio_mask_BT), inputs, guided, state);
}

at::Tensor TtsCore::next_states(const TtsInputs& inputs, bool guided, SequenceState& state) {
  return guided_states(embed_code_(latents(inputs.code_BTK)), inputs, guided, &state);
}

NameMap TtsCore::checkpoint_names() const {
  NameMap names;
  names.rules = {{"marks.bos_emb", "bos_emb"}, {"marks.null_emb", "null_emb"}, {"**", "**"}};
  return names;
}

ShardPlan TtsCore::configure_model(const MeshShape& mesh) const {
  const auto is_gone = [](const auto& row) {
    return row.module == "embed_tokens" || row.module == "lm_head";
  };
  ShardPlan plan = backbone_->configure_model(mesh);
  std::erase_if(plan.rows, is_gone);
  std::erase_if(plan.units, is_gone);
  std::erase_if(plan.heads, is_gone);
  plan = plan.nested_under("backbone");
  std::vector<std::string> whole = {"marks", "embed_code", "mog_head"};
  if (embed_target_mask_) whole.emplace_back("embed_target_mask");
  if (embed_context_) whole.emplace_back("embed_context");
  if (embed_subword_) whole.emplace_back("embed_subword");
  if (fusion_) whole.emplace_back("gated_fusion_audio_text");
  if (lm_head_) whole.emplace_back("lm_head");
  for (const std::string& module : whole) plan.rows.push_back({module});
  if (options_.mog_head_config.num_layers > 0) {
    for (int64_t i = 0; i < options_.mog_head_config.num_layers; ++i) {
      plan.units.push_back({"mog_head.mlp_stack." + std::to_string(i)});
    }
  }
  return plan;
}

}  // namespace s2s::eartts
