#include "moshi_model.h"

#include <ATen/ATen.h>

#include "kyutai.h"
#include "s2s/nn/weights.h"
#include "two_level_errors.h"

namespace s2s::two_level {

MoshiModel::MoshiModel(MoshiOptions options, MoshiParts parts, const std::string& path)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      decoder_(main_spec(options_, path)),
      lm_head_(options_.hidden_size, options_.vocab_size, false,
               Init{Init::Kind::kNormal, options_.initializer_range}),
      depth_(depth_spec(options_, path), options_.vocab_size, options_.audio_vocab_size,
             options_.num_codebooks, options_.hidden_size) {
  for (int64_t k = 0; k < 2 * options_.num_codebooks; ++k) {
    embed_tokens_.push_back(
        std::make_unique<Embedding>(options_.audio_vocab_size + 1, options_.hidden_size,
                                    Init{Init::Kind::kNormal, options_.initializer_range}));
    register_block("embed_tokens." + std::to_string(k), *embed_tokens_.back());
  }
  register_block("decoder.model", decoder_);
  register_block("decoder.lm_head", lm_head_);
  register_block("depth_decoder", depth_);
  own_ = named_parameters();
  if (parts_.codec) register_block("audio_codec", *parts_.codec);
}

MoshiModel::~MoshiModel() = default;

std::unique_ptr<WeightSource> MoshiModel::initial_values() {
  if (!options_.path) return nullptr;
  WeightFiles files = WeightFiles::open(*options_.path);
  if (is_kyutai(files)) {
    return kyutai_source(own_, decoder_.spec(), depth_spec(options_, ""), std::move(files));
  }
  return weight_source(own_, checkpoint_names(), std::move(files));
}

NameMap MoshiModel::checkpoint_names() const {
  NameMap names;
  for (const char* projection : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
    const std::string layer = std::string("decoder.model.layers.*.self_attn.") + projection;
    names.rules.push_back({layer + ".weight", layer + ".linear.weight"});
  }
  names.rules.push_back({"**", "**"});
  names.ignored = {"audio_encoder.**", "audio_codec.**"};
  return names;
}

ForeignParts MoshiModel::foreign_parts() const {
  // The keys of the codec come first.
  return {{"audio_encoder_config", "max_position_embeddings", "bos_token_id", "eos_token_id"},
          {"audio_encoder.**"}};
}

ShardPlan MoshiModel::configure_model(const MeshShape& mesh) const {
  // Every tensor rank holds the depth decoder whole: its maps are small, and its books depend on
  // each other.
  ShardPlan plan;
  plan.rows.push_back({"embed_tokens.*", Style::kReplicate, Layout::kFull, Layout::kFull});
  plan.append(decoder_.configure_model(mesh).nested_under("decoder.model"));
  plan.units.insert(plan.units.begin(), {"embed_tokens.*"});
  plan.rows.push_back({"decoder.lm_head", Style::kVocab, Layout::kFull, Layout::kLast});
  plan.units.push_back({"decoder.lm_head"});
  plan.rows.push_back({"depth_decoder", Style::kReplicate, Layout::kFull, Layout::kFull});
  plan.units.push_back({"depth_decoder"});
  plan.units.push_back({"depth_decoder.lm_heads"});
  plan.heads = {{"decoder.lm_head"}, {"depth_decoder.lm_heads"}};
  return plan;
}

Codec& MoshiModel::codec() {
  if (!parts_.codec) throw no_codec_error("the codes of audio");
  return *parts_.codec;
}

const Tokenizer& MoshiModel::tokenizer() const { return required_tokenizer(parts_.tokenizer); }

int64_t MoshiModel::source_sample_rate_hz() const { return answer_sample_rate_hz(); }

int64_t MoshiModel::answer_sample_rate_hz() const {
  return parts_.codec ? parts_.codec->shape().sample_rate_hz : 0;
}

at::Tensor MoshiModel::embed(const MoshiStreams& streams) {
  // The order of the sums follows transformers: agent's books, user's books, text.
  at::Tensor sum_BTH;
  for (int64_t k = 0; k < 2 * options_.num_codebooks; ++k) {
    const bool is_own = k < options_.num_codebooks;
    const at::Tensor& codes_BKT = is_own ? streams.own_BKT : streams.user_BKT;
    const at::Tensor book_BTH = (*embed_tokens_[static_cast<size_t>(k)])(
        codes_BKT.select(1, is_own ? k : k - options_.num_codebooks));
    sum_BTH = sum_BTH.defined() ? sum_BTH + book_BTH : book_BTH;
  }
  return sum_BTH + decoder_.embed(streams.text_BT);
}

at::Tensor MoshiModel::no_codes(const at::Tensor& like_BKT) const {
  return at::full({like_BKT.size(0), like_BKT.size(1), 1}, options_.audio_vocab_size,
                  like_BKT.options());
}

at::Tensor MoshiModel::delayed(const at::Tensor& codes_BKT) const {
  const int64_t width = codes_BKT.size(2);
  const at::Tensor late = at::cat({no_codes(codes_BKT), codes_BKT.narrow(2, 0, width - 1)}, 2);
  return at::cat({codes_BKT.narrow(1, 0, 1), late.narrow(1, 1, late.size(1) - 1)}, 1);
}

}  // namespace s2s::two_level
