#include "stt_model.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "s2s/nn/decoder.h"
#include "stt_errors.h"

namespace s2s::duplex_stt {
namespace {

Init init_of(Block& block, const std::string& name) {
  for (const NamedTensor& parameter : block.named_parameters()) {
    if (parameter.name == name) return parameter.init;
  }
  return {};
}

/// Returns the factor that the family applies in `embed`, or 1 for a backbone of another kind.
double embedding_scale_of(const Backbone& llm) {
  const auto* const decoder = dynamic_cast<const Decoder*>(&llm);
  return decoder != nullptr ? decoder->spec().embedding_scale : 1;
}

/// Gives access to the stored values of any block.
class SourceOf : public Block {
 public:
  static std::unique_ptr<WeightSource> block(Block& block) {
    return (block.*(&SourceOf::initial_values))();
  }
};

/// Some tensors begin as copies of the stored values of others.
class CopiedValues : public WeightSource {
 public:
  using Copy = std::pair<const at::Tensor*, const at::Tensor*>;  // the new tensor and its original
  CopiedValues(std::unique_ptr<WeightSource> stored, std::vector<Copy> copies)
      : stored_(std::move(stored)) {
    const std::vector<const at::Tensor*> known = stored_->members();
    for (const Copy& copy : copies) {
      if (std::find(known.begin(), known.end(), copy.second) != known.end()) {
        copies_.push_back(copy);
      }
    }
  }
  std::vector<const at::Tensor*> members() const override {
    std::vector<const at::Tensor*> members;
    for (const Copy& copy : copies_) members.push_back(copy.first);
    return members;
  }
  void write(const at::Tensor* member, const at::Tensor& destination) const override {
    for (const auto& [copy, original] : copies_) {
      if (copy == member) return stored_->write(original, destination);
    }
  }

 private:
  std::unique_ptr<WeightSource> stored_;
  std::vector<Copy> copies_;
};

}  // namespace

SttModel::UserChannel::UserChannel(const BackboneShape& shape, Init embedding_init, Init head_init,
                                   int64_t padding_idx)
    : head(shape.hidden_size, shape.vocab_size, /*bias=*/false, head_init),
      embedding(shape.vocab_size, shape.hidden_size, embedding_init, padding_idx) {}

SttModel::SttModel(SttOptions options, SttParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      perception_(std::move(parts_.encoder), options_.modality_adapter,
                  parts_.llm->shape().hidden_size),
      embedding_scale_(embedding_scale_of(*parts_.llm)) {
  if (options_.predict_user_text) add_user_channel();
  register_language_model(*this, *parts_.llm);
  register_block("perception", perception_);
  if (!user_) return;
  register_block("embed_asr_tokens", user_->embedding);
  register_block("asr_head", user_->head);
}

SttModel::~SttModel() = default;

void SttModel::add_user_channel() {
  Backbone& llm = *parts_.llm;
  const Init of_embedding = init_of(llm, "embed_tokens.weight");
  const Init of_head = llm.shape().tied_head ? of_embedding : init_of(llm, "lm_head.weight");
  const auto* const embedding = dynamic_cast<const Embedding*>(llm.find_block("embed_tokens"));
  const int64_t padding_idx = embedding != nullptr ? embedding->padding_idx() : -1;
  user_ = std::make_unique<UserChannel>(llm.shape(), of_embedding, of_head, padding_idx);
}

std::unique_ptr<WeightSource> SttModel::initial_values() {
  if (!user_) return nullptr;
  std::unique_ptr<WeightSource> stored = SourceOf::block(*parts_.llm);
  if (stored == nullptr) return nullptr;
  const auto tensor_of = [this](const std::string& name) -> const at::Tensor* {
    for (const NamedTensor& parameter : named_parameters()) {
      if (parameter.name == name) return parameter.tensor;
    }
    return nullptr;
  };
  const at::Tensor* const embedding = tensor_of("embed_tokens.weight");
  const at::Tensor* const head =
      parts_.llm->shape().tied_head ? embedding : tensor_of("lm_head.weight");
  return std::make_unique<CopiedValues>(
      std::move(stored), std::vector<CopiedValues::Copy>{{&user_->embedding.weight, embedding},
                                                         {&user_->head.weight, head}});
}

const Tokenizer& SttModel::tokenizer() const { return required_tokenizer(parts_.tokenizer); }

int64_t SttModel::source_sample_rate_hz() const { return perception_.encoder().sample_rate_hz(); }

at::Tensor SttModel::agent_embeds(const at::Tensor& agent_BT) {
  const at::Tensor embedded = parts_.llm->embed(agent_BT);
  const double weight = options_.duplex_text_channel_weight;
  return weight == 1 ? embedded : embedded * weight;
}

at::Tensor SttModel::user_embeds(const at::Tensor& user_BT) {
  at::Tensor embedded = user_->embedding(user_BT);
  if (embedding_scale_ != 1) {  // rounded as in Decoder::embed
    const at::Tensor scale =
        at::scalar_tensor(embedding_scale_, embedded.options().dtype(at::kFloat));
    embedded = embedded * scale.to(user_->embedding.weight.scalar_type());
  }
  const double weight = options_.duplex_asr_text_weight;
  return weight == 1 ? embedded : embedded * weight;
}

at::Tensor SttModel::input_embeds(const at::Tensor& frames_BTH, const at::Tensor& agent_BT,
                                  const at::Tensor& user_BT) {
  const at::Tensor sum_BTH =
      agent_embeds(agent_BT) + frames_BTH * options_.duplex_user_channel_weight;
  return user_ ? sum_BTH + user_embeds(user_BT) : sum_BTH;
}

at::Tensor SttModel::decoding_embeds(const at::Tensor& frames_BTH, const at::Tensor& agent_BT,
                                     const at::Tensor& user_BT) {
  const at::Tensor frames = frames_BTH * options_.duplex_user_channel_weight;
  const at::Tensor said = agent_embeds(agent_BT);
  return frames + (user_ ? said + user_embeds(user_BT) : said);
}

}  // namespace s2s::duplex_stt
