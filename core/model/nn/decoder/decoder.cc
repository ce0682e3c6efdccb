#include "s2s/nn/decoder.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "nn/decoder/fixed_keys.h"
#include "nn/fused.h"
#include "nn/joined_linear.h"
#include "s2s/error.h"
#include "s2s/nn/weights.h"

namespace s2s {
namespace {

Init normal_init(const DecoderSpec& spec) { return {Init::Kind::kNormal, spec.initializer_range}; }

/// The same rows of two stored tables.
bool has_same_rows(const WeightFiles& files, const std::string& a, const std::string& b,
                   const TensorSlice& rows) {
  return at::equal(files.read(a, rows).to(at::kFloat), files.read(b, rows).to(at::kFloat));
}

/// Refuses files with a head of their own for a model whose head is the embedding: a training of
/// the head has changed it, and the model without it gives other outputs. Rows at the beginning, in
/// the middle and at the end are compared.
void require_same_head(const WeightFiles& files, const NameMap& names) {
  const auto& facts = files.facts();
  const auto is_there = [&](const std::string& name) { return facts.contains(name); };
  const std::string table = names.to_theirs("embed_tokens.weight", is_there).value_or("");
  const std::string head = names.to_theirs("lm_head.weight", is_there).value_or("");
  if (!is_there(table) || !is_there(head) || table == head) return;
  const std::vector<int64_t>& sizes = facts.at(table).sizes;
  if (sizes != facts.at(head).sizes || sizes.size() != 2) return;  // found with the other sizes
  const int64_t rows = std::min<int64_t>(16, sizes[0]);
  for (const int64_t begin : {int64_t{0}, (sizes[0] - rows) / 2, sizes[0] - rows}) {
    if (has_same_rows(files, table, head, {0, begin, rows})) continue;
    throw_unsupported_config(files.path() + "/config.json", "tie_word_embeddings", "true",
                             "false, because '" + head + "' differs from '" + table +
                                 "': write false to use that head, or remove it from the files");
  }
}

std::unique_ptr<RmsNorm> further_norm(const DecoderSpec& spec) {
  return std::make_unique<RmsNorm>(spec.shape.hidden_size, spec.norm_eps, spec.norm_weight);
}

NamedPart<Mixer> mixer_of(const DecoderSpec& spec, int64_t layer,
                          const std::shared_ptr<RotaryTables>& rotary) {
  if (spec.mixer) return spec.mixer(spec, layer, rotary);
  return {"self_attn", std::make_unique<GroupedQueryAttention>(spec, layer, rotary)};
}

NamedPart<FeedForward> feed_forward_of(const DecoderSpec& spec, int64_t layer) {
  if (spec.feed_forward) return spec.feed_forward(spec, layer);
  return {"mlp", std::make_unique<GatedMlp>(spec)};
}

/// With a stage inside of the decoder.
DecoderSpec checked(DecoderSpec spec) {
  if (spec.stage.end == -1) spec.stage.end = spec.shape.num_layers;
  S2S_ASSERT(0 <= spec.stage.begin && spec.stage.begin <= spec.stage.end &&
                 spec.stage.end <= spec.shape.num_layers,
             "a stage has layers of the decoder");
  return spec;
}

}  // namespace

GatedMlp::GatedMlp(const DecoderSpec& spec)
    : gate_proj(spec.shape.hidden_size, spec.shape.intermediate_size, spec.mlp_bias,
                normal_init(spec)),
      up_proj(spec.shape.hidden_size, spec.shape.intermediate_size, spec.mlp_bias,
              normal_init(spec)),
      down_proj(spec.shape.intermediate_size, spec.shape.hidden_size, spec.mlp_bias,
                normal_init(spec)),
      activation_(spec.activation) {
  register_block("gate_proj", gate_proj);
  register_block("up_proj", up_proj);
  register_block("down_proj", down_proj);
}

GatedMlp::~GatedMlp() = default;

at::Tensor GatedMlp::forward(const at::Tensor& x_BTH) {
  const at::Tensor both = joined_linear(x_BTH, {&gate_proj, &up_proj});
  if (both.defined()) return down_proj(gated_halves(both, activation_));
  const at::Tensor gate = gate_proj(x_BTH);
  const at::Tensor up = up_proj(x_BTH);
  return down_proj(activation_ == GateActivation::kSilu ? swiglu(gate, up) : geglu(gate, up));
}

DecoderLayer::DecoderLayer(const DecoderSpec& spec, int64_t layer,
                           const std::shared_ptr<RotaryTables>& rotary)
    : input_layernorm(spec.shape.hidden_size, spec.norm_eps, spec.norm_weight),
      mixer(mixer_of(spec, layer, rotary)),
      post_attention_layernorm(spec.shape.hidden_size, spec.norm_eps, spec.norm_weight),
      feed_forward(feed_forward_of(spec, layer)) {
  register_block("input_layernorm", input_layernorm);
  register_block(mixer.name, *mixer.block);
  register_block("post_attention_layernorm", post_attention_layernorm);
  register_block(feed_forward.name, *feed_forward.block);
  if (!spec.post_norms) return;
  pre_feedforward_layernorm = further_norm(spec);
  post_feedforward_layernorm = further_norm(spec);
  register_block("pre_feedforward_layernorm", *pre_feedforward_layernorm);
  register_block("post_feedforward_layernorm", *post_feedforward_layernorm);
}

DecoderLayer::~DecoderLayer() = default;

at::Tensor DecoderLayer::forward(const at::Tensor& x_BTH, const SequenceInfo& info) {
  const at::Tensor mixed_BTH = (*mixer.block)(input_layernorm(x_BTH), info);
  if (!pre_feedforward_layernorm) {
    const auto [y_BTH, normed_BTH] = post_attention_layernorm.of_sum(x_BTH, mixed_BTH);
    return y_BTH + (*feed_forward.block)(normed_BTH);
  }
  const auto [y_BTH, normed_BTH] =
      pre_feedforward_layernorm->of_sum(x_BTH, post_attention_layernorm(mixed_BTH));
  return y_BTH + (*post_feedforward_layernorm)((*feed_forward.block)(normed_BTH));
}

Decoder::Decoder(DecoderSpec spec)
    : spec_(checked(std::move(spec))),
      rotary_(std::make_shared<RotaryTables>(spec_.rotary, spec_.shape.head_dim)),
      local_rotary_(spec_.local_rotary
                        ? std::make_shared<RotaryTables>(*spec_.local_rotary, spec_.shape.head_dim)
                        : rotary_) {
  const BackboneShape& shape = spec_.shape;
  if (is_first() || (is_last() && shape.tied_head)) {
    embed_tokens_ = std::make_unique<Embedding>(shape.vocab_size, shape.hidden_size,
                                                normal_init(spec_), spec_.padding_idx);
    register_block("embed_tokens", *embed_tokens_);
  }
  for (int64_t i = spec_.stage.begin; i < spec_.stage.end; ++i) {
    layers_.push_back(
        std::make_unique<DecoderLayer>(spec_, i, spec_.is_local(i) ? local_rotary_ : rotary_));
    register_block("layers." + std::to_string(i), *layers_.back());
  }
  if (is_last()) {
    norm_ = further_norm(spec_);
    register_block("norm", *norm_);
    if (!shape.tied_head) {
      lm_head_ =
          std::make_unique<Linear>(shape.hidden_size, shape.vocab_size, false, normal_init(spec_));
      register_block("lm_head", *lm_head_);
    }
  }
  own_ = named_parameters();
}

Decoder::~Decoder() = default;

at::Tensor Decoder::embed(const at::Tensor& ids_BT) {
  if (!is_first()) return ids_BT;
  const at::Tensor rows_BTH = (*embed_tokens_)(ids_BT);
  if (spec_.embedding_scale == 1) return rows_BTH;
  // Round to float32 first, as transformers does.
  const at::TensorOptions wide = rows_BTH.options().dtype(at::kFloat);
  const at::Tensor scale = at::scalar_tensor(spec_.embedding_scale, wide);
  return rows_BTH * scale.to(embed_tokens_->weight.scalar_type());
}

HeadWeight Decoder::head() {
  S2S_ASSERT(is_last(), "the last stage has the head");
  return lm_head_ ? lm_head_->head() : embed_tokens_->head();
}

at::Tensor Decoder::logits(const at::Tensor& hidden, bool soft_cap) {
  if (!is_last()) return hidden;
  const at::Tensor plain = head_logits(hidden, head());
  const double cap = spec_.logit_soft_cap;
  return soft_cap && cap > 0 ? (plain / cap).tanh() * cap : plain;
}

namespace {

/// [T] int64: the position of each column in its document.
at::Tensor document_positions(const std::vector<DocumentSpan>& documents, int64_t num_columns,
                              at::Device device) {
  const at::Tensor positions_T = at::empty({num_columns}, at::kLong);
  int64_t end = 0;
  for (const DocumentSpan& document : documents) {
    S2S_ASSERT(document.row == 0 && document.begin == end, "documents fill the row in order");
    auto own = positions_T.narrow(0, document.begin, document.length);
    at::arange_out(own, document.length);
    end += document.length;
  }
  S2S_ASSERT(end == num_columns, "documents fill the row");
  return positions_T.to(device);
}

int64_t longest_of(const std::vector<DocumentSpan>& documents) {
  int64_t longest = 0;
  for (const DocumentSpan& document : documents) longest = std::max(longest, document.length);
  return longest;
}

/// [documents + 1] int32, as the kernels of devices want it.
at::Tensor begins_of(const std::vector<DocumentSpan>& documents, int64_t num_columns,
                     at::Device device) {
  const at::Tensor begins = at::empty({static_cast<int64_t>(documents.size()) + 1}, at::kInt);
  auto* const begin = begins.mutable_data_ptr<int32_t>();
  for (size_t i = 0; i < documents.size(); ++i) begin[i] = static_cast<int32_t>(documents[i].begin);
  begin[documents.size()] = static_cast<int32_t>(num_columns);
  return begins.to(device);
}

/// Where the columns of a step [B, T, H] are.
Positions positions_of(const at::Tensor& x_BTH, const SequenceInfo& info, bool is_dynamic) {
  Positions found;
  const int64_t count = x_BTH.size(1);
  found.end = count;
  if (info.documents != nullptr) {
    S2S_ASSERT(x_BTH.size(0) == 1 && info.state == nullptr, "packed documents are a single row");
    found.own_N = document_positions(*info.documents, count, x_BTH.device());
    found.end = longest_of(*info.documents);
  }
  if (info.state == nullptr) return found;
  info.state->begin(x_BTH.size(0));
  FixedKeys* const fixed = info.state->fixed();
  const std::vector<int64_t> lengths = info.state->lengths(info.rows);
  const auto [shortest, longest] = std::minmax_element(lengths.begin(), lengths.end());
  if (fixed != nullptr && count == 1) {
    S2S_ASSERT(*longest < fixed->capacity(), "memory is reserved before each step");
    if (!is_dynamic) {
      found.own_N = fixed->position(x_BTH.device());
      found.end = fixed->capacity();
      return found;
    }
  }
  found.begin = lengths.front();
  found.end = *longest + count;
  if (*shortest != *longest) {
    found.row_begins = lengths;
  } else if (is_dynamic) {
    found.row_begins = {found.begin};  // angles depend on this text's length alone
  }
  return found;
}

}  // namespace

bool Decoder::steps_repeat() const {
  return !rotary_->is_dynamic() && !local_rotary_->is_dynamic();
}

at::Tensor Decoder::forward(const at::Tensor& x_BTH, const SequenceInfo& info) {
  SequenceInfo here = info;
  if (here.positions.end == 0) here.positions = positions_of(x_BTH, info, !steps_repeat());
  if (info.documents != nullptr && !x_BTH.is_cpu()) {
    here.document_begins = begins_of(*info.documents, x_BTH.size(1), x_BTH.device());
  }
  for (const auto& tables : {rotary_, local_rotary_}) {
    tables->begin_step(x_BTH.device(), rotary_table_type(x_BTH));
  }
  at::Tensor hidden_BTH = x_BTH;
  for (const auto& layer : layers_) hidden_BTH = (*layer)(hidden_BTH, here);
  if (info.state != nullptr) info.state->advance(x_BTH.size(1), info.rows);
  return norm_ ? (*norm_)(hidden_BTH) : hidden_BTH;
}

std::unique_ptr<WeightSource> Decoder::initial_values() {
  if (spec_.weights_path.empty()) return nullptr;
  WeightFiles files = WeightFiles::open(spec_.weights_path);
  if (spec_.shape.tied_head) require_same_head(files, checkpoint_names());
  return weight_source(own_, checkpoint_names(), std::move(files));
}

NameMap Decoder::checkpoint_names() const {
  NameMap map;
  map.rules = {{"lm_head.weight", "lm_head.weight"}, {"**", "model.**"}};
  // In files of transformers < 4.32.
  map.ignored = {"model.layers.*.self_attn.rotary_emb.inv_freq"};
  if (spec_.shape.tied_head) map.ignored.push_back("lm_head.weight");
  // Of other stages.
  if (!embed_tokens_) map.ignored.push_back("model.embed_tokens.weight");
  for (int64_t i = 0; i < spec_.shape.num_layers; ++i) {
    const bool is_own = spec_.stage.begin <= i && i < spec_.stage.end;
    if (!is_own) map.ignored.push_back("model.layers." + std::to_string(i) + ".**");
  }
  if (!is_last()) map.ignored.insert(map.ignored.end(), {"model.norm.weight", "lm_head.weight"});
  if (spec_.other_parts.empty()) return map;
  // The names in transformers of a language model inside a larger one, in files and in memory.
  map.other_spellings = {{"lm_head.weight", "language_model.lm_head.weight"},
                         {"**", "language_model.model.**"},
                         {"**", "model.language_model.**"}};
  if (spec_.shape.tied_head) map.ignored.push_back("language_model.lm_head.weight");
  map.ignored.insert(map.ignored.end(), spec_.other_parts.begin(), spec_.other_parts.end());
  return map;
}

ShardPlan Decoder::plan_with(std::vector<TensorRow> rows, std::vector<UnitRow> units) const {
  ShardPlan plan;
  // The output of the embedding is not split: a speech model adds the encoder's frames to it.
  if (embed_tokens_) {
    plan.rows.push_back({"embed_tokens", Style::kVocab, Layout::kFull, Layout::kFull});
  }
  plan.rows.insert(plan.rows.end(), rows.begin(), rows.end());
  if (lm_head_) plan.rows.push_back({"lm_head", Style::kVocab, Layout::kFull, Layout::kLast});
  // The embedding and the head are separate units, because each is as large as several layers.
  if (embed_tokens_) plan.units = {{"embed_tokens"}};
  plan.units.insert(plan.units.end(), units.begin(), units.end());
  if (lm_head_) plan.units.push_back({"lm_head"});
  const BackboneShape& shape = spec_.shape;
  plan.divisors = {{"num_attention_heads", shape.num_attention_heads},
                   {"num_key_value_heads", shape.num_key_value_heads},
                   {"intermediate_size", shape.intermediate_size}};
  if (is_last()) plan.heads = {{lm_head_ ? "lm_head" : "embed_tokens"}};
  for (size_t i = 0; i < layers_.size(); ++i) {
    const NamedPart<Mixer>& mixer = layers_[i]->mixer;
    if (dynamic_cast<const GroupedQueryAttention*>(mixer.block.get()) == nullptr) continue;
    const int64_t layer = spec_.stage.begin + static_cast<int64_t>(i);
    plan.attentions.push_back({"layers." + std::to_string(layer) + "." + mixer.name,
                               shape.num_attention_heads, shape.num_key_value_heads, shape.head_dim,
                               spec_.is_local(layer) ? spec_.attention.window : 0,
                               spec_.attention.soft_cap > 0, spec_.qk_norm});
  }
  return plan;
}

std::vector<TensorRow> decoder_rows(const DecoderSpec& spec) {
  using enum Layout;
  using enum Style;
  // key/value heads may be replicated on several ranks
  const char* const kv_heads = "num_key_value_heads";
  // clang-format off
  std::vector<TensorRow> rows = {
      // module                               style      in     out
      {"layers.0",                            kBoundary, kFull, kSeq },
      {"layers.*.input_layernorm",            kSequence, kSeq,  kSeq },
      {"layers.*.self_attn",                  kBoundary, kSeq,  kFull},
      {"layers.*.self_attn.q_proj",           kColwise,  kFull, kLast},
      {"layers.*.self_attn.q_norm",           kPerHead,  kLast, kLast},
      {"layers.*.self_attn.k_proj",           kColwise,  kFull, kLast, kv_heads},
      {"layers.*.self_attn.k_norm",           kPerHead,  kLast, kLast},
      {"layers.*.self_attn.v_proj",           kColwise,  kFull, kLast, kv_heads},
      {"layers.*.self_attn.o_proj",           kRowwise,  kLast, kSeq },
      {"layers.*.post_attention_layernorm",   kSequence, kSeq,  kSeq },
      {"layers.*.pre_feedforward_layernorm",  kSequence, kSeq,  kSeq },
      {"layers.*.mlp",                        kBoundary, kSeq,  kFull},
      {"layers.*.mlp.gate_proj",              kColwise,  kFull, kLast},
      {"layers.*.mlp.up_proj",                kColwise,  kFull, kLast},
      {"layers.*.mlp.down_proj",              kRowwise,  kLast, kSeq },
      {"layers.*.post_feedforward_layernorm", kSequence, kSeq,  kSeq },
      {"norm",                                kSequence, kSeq,  kFull},
  };
  // clang-format on
  std::erase_if(rows, [&](const TensorRow& row) {
    const bool is_post_norm = row.module.ends_with("_feedforward_layernorm");
    return (is_post_norm && !spec.post_norms) || (row.style == kPerHead && !spec.qk_norm);
  });
  return rows;
}

}  // namespace s2s
