#include "duplex_model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "duplex_errors.h"
#include "s2s/nn/full_precision.h"

namespace s2s::duplex_s2s {

DuplexModel::DuplexModel(DuplexOptions options, DuplexParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      speech_(parts_.codebook_size),
      perception_(std::move(parts_.encoder), options_.modality_adapter,
                  parts_.llm->shape().hidden_size) {
  register_language_model(*this, *parts_.llm);
  register_block("perception", perception_);
  if (!parts_.speech_decoder) register_audio_embeddings();
  if (options_.text_hold) {
    embed_held_text_ =
        std::make_unique<Embedding>(parts_.llm->shape().vocab_size, parts_.llm->shape().hidden_size,
                                    Init{Init::Kind::kNormal, 0.1});
    register_block("embed_held_text", *embed_held_text_);
  }
  if (parts_.speech_decoder) {
    register_block("speech_generation", *parts_.speech_decoder);
  } else {
    flat_head_ =
        std::make_unique<Linear>(parts_.llm->shape().hidden_size,
                                 parts_.num_codebooks * (parts_.codebook_size + SpeechIds::kCount));
    register_block("audio_head", *flat_head_);
  }
  if (options_.user_text.enabled) {
    user_text_ = std::make_unique<UserTextHead>(parts_.llm->shape().hidden_size,
                                                parts_.llm->shape().vocab_size, options_.user_text);
    register_block("user_text", *user_text_);
  }
  if (parts_.codec) register_block("audio_codec", *parts_.codec);
}

DuplexModel::~DuplexModel() = default;

void DuplexModel::register_audio_embeddings() {
  const Init init{Init::Kind::kNormal, options_.embed_audio_tokens_std};
  for (int64_t k = 0; k < parts_.num_codebooks; ++k) {
    embed_audio_tokens_.push_back(std::make_unique<Embedding>(
        parts_.codebook_size + SpeechIds::kCount, parts_.llm->shape().hidden_size, init));
    register_block("embed_audio_tokens." + std::to_string(k), *embed_audio_tokens_.back());
  }
}

HeadWeight DuplexModel::audio_head() {
  return (flat_head_ ? *flat_head_ : parts_.speech_decoder->head()).head();
}

at::Tensor DuplexModel::audio_state(const at::Tensor& hidden_BTH, const at::Tensor& codes_BTK,
                                    SequenceState* state, const std::vector<int64_t>& rows) {
  if (!parts_.speech_decoder) return hidden_BTH;
  return parts_.speech_decoder->states(hidden_BTH, codes_BTK, state, rows);
}

Codec& DuplexModel::codec() {
  if (!parts_.codec) throw no_codec_error();
  return *parts_.codec;
}

const Tokenizer& DuplexModel::tokenizer() const { return required_tokenizer(parts_.tokenizer); }

int64_t DuplexModel::source_sample_rate_hz() const {
  return perception_.encoder().sample_rate_hz();
}

int64_t DuplexModel::answer_sample_rate_hz() const {
  return parts_.codec ? parts_.codec->shape().sample_rate_hz : 0;
}

at::Tensor DuplexModel::text_embedding(const at::Tensor& text_BT) {
  const at::Tensor embedded = parts_.llm->embed(text_BT);
  return options_.text_embedding_scale == 1 ? embedded : embedded * options_.text_embedding_scale;
}

at::Tensor DuplexModel::add_codes(at::Tensor sum_BTH, const at::Tensor& audio_BTK) {
  for (size_t k = 0; k < embed_audio_tokens_.size(); ++k) {
    sum_BTH = sum_BTH + (*embed_audio_tokens_[k])(audio_BTK.select(-1, static_cast<int64_t>(k)));
  }
  return sum_BTH;
}

at::Tensor DuplexModel::add_held_text(const at::Tensor& x_BTH, const at::Tensor& held_BT) {
  return embed_held_text_ ? x_BTH + (*embed_held_text_)(held_BT) : x_BTH;
}

DuplexModel::UserChannel DuplexModel::user_channel(const at::Tensor& features_BTH,
                                                   const at::Tensor& truth_BT) {
  UserChannel user{features_BTH, {}};
  if (user_text_ && options_.user_text.feed_back) {
    const int64_t vocab_size = parts_.llm->shape().vocab_size;
    const at::Tensor all_ids = at::arange(vocab_size, features_BTH.options().dtype(at::kLong));
    user.words = user_text_->words(features_BTH, text_embedding(all_ids), parts_.ids, truth_BT);
    const double weight = options_.user_text.features_weight;
    user.frames_BTH = (weight == 1 ? features_BTH : features_BTH * weight) + user.words.words_BTH;
  }
  if (options_.duplex_user_channel_weight != 1) {
    user.frames_BTH = user.frames_BTH * options_.duplex_user_channel_weight;
  }
  return user;
}

at::Tensor DuplexModel::text_state(const at::Tensor& hidden_BTH, const HeardWords& words,
                                   SequenceState* state, const std::vector<int64_t>& rows) {
  CopyAttention* const copy = user_text_ ? user_text_->copy() : nullptr;
  if (copy == nullptr || !words.defined()) return hidden_BTH;
  return copy->add_words(hidden_BTH, words, state, rows);
}

std::pair<at::Tensor, at::Tensor> DuplexModel::target_codes(const Batch& batch) {
  const at::NoGradGuard no_grad;
  if (batch.codes_BKT.defined()) {
    return {batch.codes_BKT.transpose(1, 2), batch.code_lens_B};
  }
  const FullPrecision full_precision;
  auto [codes_BKT, lengths_B] = codec().encode(batch.target_audio_BS, batch.target_audio_lens_B);
  return {codes_BKT.transpose(1, 2), lengths_B};
}

}  // namespace s2s::duplex_s2s
