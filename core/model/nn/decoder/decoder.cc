#include "s2s/nn/decoder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

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

std::optional<RotaryTables> local_tables(const DecoderSpec& spec) {
  if (!spec.local_rotary) return {};
  return RotaryTables(*spec.local_rotary, spec.shape.head_dim);
}

/// Keeps short wavelengths, stretches long ones by `factor`, and interpolates between them.
double stretched_frequency(double inv_freq, const RotarySpec& spec) {
  const double original = spec.original_max_position_embeddings;
  const double wavelength = 2 * M_PI / inv_freq;
  if (wavelength > original / spec.low_freq_factor) return inv_freq / spec.factor;
  if (wavelength < original / spec.high_freq_factor) return inv_freq;
  const double smooth = (original / wavelength - spec.low_freq_factor) /
                        (spec.high_freq_factor - spec.low_freq_factor);
  return (1 - smooth) * inv_freq / spec.factor + smooth * inv_freq;
}

/// Returns the base with which a text of `num_positions` covers the range of the original angles.
/// Source: transformers' "dynamic" scaling (NTK-aware).
double grown_theta(const RotarySpec& spec, int64_t head_dim, int64_t num_positions) {
  const double original = spec.original_max_position_embeddings;
  const double positions = std::max(static_cast<double>(num_positions), original);
  const auto dim = static_cast<double>(head_dim);
  const double growth = spec.factor * positions / original - (spec.factor - 1);
  return spec.theta * std::pow(growth, dim / (dim - 2));
}

/// Returns the indices of the pairs between which YaRN's ramp runs.  Source: Peng et al. 2023,
/// arXiv 2309.00071.
std::pair<double, double> yarn_ramp(const RotarySpec& spec, double dim) {
  const auto pair_that_turns = [&](double turns) {
    return dim * std::log(spec.original_max_position_embeddings / (turns * 2 * M_PI)) /
           (2 * std::log(spec.theta));
  };
  double low = pair_that_turns(spec.beta_fast);
  double high = pair_that_turns(spec.beta_slow);
  if (spec.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1);
  return {low, low == high ? high + 0.001 : high};
}

double yarn_frequency(double inv_freq, int64_t pair, const RotarySpec& spec, int64_t head_dim) {
  const auto [low, high] = yarn_ramp(spec, static_cast<double>(head_dim));
  const double stretched = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
  return inv_freq / spec.factor * stretched + inv_freq * (1 - stretched);
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

DecoderLayer::DecoderLayer(const DecoderSpec& spec, int64_t layer)
    : input_layernorm(spec.shape.hidden_size, spec.norm_eps, spec.norm_weight),
      self_attn(spec, layer),
      post_attention_layernorm(spec.shape.hidden_size, spec.norm_eps, spec.norm_weight),
      mlp(spec) {
  register_block("input_layernorm", input_layernorm);
  register_block("self_attn", self_attn);
  register_block("post_attention_layernorm", post_attention_layernorm);
  register_block("mlp", mlp);
  if (!spec.post_norms) return;
  pre_feedforward_layernorm = further_norm(spec);
  post_feedforward_layernorm = further_norm(spec);
  register_block("pre_feedforward_layernorm", *pre_feedforward_layernorm);
  register_block("post_feedforward_layernorm", *post_feedforward_layernorm);
}

DecoderLayer::~DecoderLayer() = default;

at::Tensor DecoderLayer::forward(const at::Tensor& x_BTH, const SequenceInfo& info) {
  const at::Tensor attended_BTH = self_attn(input_layernorm(x_BTH), info);
  if (!pre_feedforward_layernorm) {
    const auto [y_BTH, normed_BTH] = post_attention_layernorm.of_sum(x_BTH, attended_BTH);
    return y_BTH + mlp(normed_BTH);
  }
  const auto [y_BTH, normed_BTH] =
      pre_feedforward_layernorm->of_sum(x_BTH, post_attention_layernorm(attended_BTH));
  return y_BTH + (*post_feedforward_layernorm)(mlp(normed_BTH));
}

Decoder::Decoder(DecoderSpec spec)
    : spec_(std::move(spec)),
      embed_tokens_(spec_.shape.vocab_size, spec_.shape.hidden_size, normal_init(spec_),
                    spec_.padding_idx),
      norm_(spec_.shape.hidden_size, spec_.norm_eps, spec_.norm_weight),
      rotary_(spec_.rotary, spec_.shape.head_dim),
      local_rotary_(local_tables(spec_)) {
  register_block("embed_tokens", embed_tokens_);
  for (int64_t i = 0; i < spec_.shape.num_layers; ++i) {
    layers_.push_back(std::make_unique<DecoderLayer>(spec_, i));
    register_block("layers." + std::to_string(i), *layers_.back());
  }
  register_block("norm", norm_);
  if (!spec_.shape.tied_head) {
    lm_head_ = std::make_unique<Linear>(spec_.shape.hidden_size, spec_.shape.vocab_size, false,
                                        normal_init(spec_));
    register_block("lm_head", *lm_head_);
  }
  own_ = named_parameters();
}

Decoder::~Decoder() = default;

at::Tensor Decoder::embed(const at::Tensor& ids_BT) {
  const at::Tensor rows_BTH = embed_tokens_(ids_BT);
  if (spec_.embedding_scale == 1) return rows_BTH;
  // Round to float32 first, as transformers does.
  const at::TensorOptions wide = rows_BTH.options().dtype(at::kFloat);
  const at::Tensor scale = at::scalar_tensor(spec_.embedding_scale, wide);
  return rows_BTH * scale.to(embed_tokens_.weight.scalar_type());
}

HeadWeight Decoder::head() { return lm_head_ ? lm_head_->head() : embed_tokens_.head(); }

at::Tensor Decoder::logits(const at::Tensor& hidden, bool soft_cap) {
  const at::Tensor plain = head_logits(hidden, head());
  const double cap = spec_.logit_soft_cap;
  return soft_cap && cap > 0 ? (plain / cap).tanh() * cap : plain;
}

std::pair<at::Tensor, at::Tensor> Decoder::tables(RotaryTables& rotary, const at::Tensor& x_BTH,
                                                  KvCache* cache) const {
  FixedKeys* const fixed = cache != nullptr ? cache->fixed() : nullptr;
  if (fixed != nullptr && x_BTH.size(1) == 1 && !rotary.is_dynamic()) {
    return rotary.at_position(fixed->position(x_BTH.device()), fixed->capacity());
  }
  return rotary.at_positions(cache != nullptr ? cache->length() : 0, x_BTH.size(1), x_BTH.device());
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

}  // namespace

bool Decoder::steps_repeat() const {
  return !rotary_.is_dynamic() && !(local_rotary_ && local_rotary_->is_dynamic());
}

at::Tensor Decoder::forward(const at::Tensor& x_BTH, const SequenceInfo& info) {
  SequenceInfo here = info;
  at::Tensor positions_T;
  if (info.documents != nullptr) {
    S2S_ASSERT(x_BTH.size(0) == 1 && info.cache == nullptr, "packed documents are a single row");
    positions_T = document_positions(*info.documents, x_BTH.size(1), x_BTH.device());
    if (!x_BTH.is_cpu()) {
      here.document_begins = begins_of(*info.documents, x_BTH.size(1), x_BTH.device());
    }
  }
  const at::ScalarType table_type = rotary_table_type(x_BTH);
  const auto turned = [&](RotaryTables& rotary) {
    auto [cos_TD, sin_TD] =
        info.documents == nullptr
            ? tables(rotary, x_BTH, info.cache)
            : rotary.at_positions(0, longest_of(*info.documents), x_BTH.device());
    if (info.documents != nullptr) {
      cos_TD = cos_TD.index_select(0, positions_T);
      sin_TD = sin_TD.index_select(0, positions_T);
    }
    return std::pair(cos_TD.to(table_type), sin_TD.to(table_type));
  };
  std::tie(here.cos_TD, here.sin_TD) = turned(rotary_);
  SequenceInfo local = here;
  if (local_rotary_) std::tie(local.cos_TD, local.sin_TD) = turned(*local_rotary_);
  at::Tensor hidden_BTH = x_BTH;
  for (int64_t i = 0; i < spec_.shape.num_layers; ++i) {
    DecoderLayer& layer = *layers_[static_cast<size_t>(i)];
    hidden_BTH = layer(hidden_BTH, spec_.is_local(i) ? local : here);
  }
  if (info.cache != nullptr) info.cache->advance(x_BTH.size(1));
  return norm_(hidden_BTH);
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
  plan.rows.push_back({"embed_tokens", Style::kVocab, Layout::kFull, Layout::kFull});
  plan.rows.insert(plan.rows.end(), rows.begin(), rows.end());
  if (lm_head_) plan.rows.push_back({"lm_head", Style::kVocab, Layout::kFull, Layout::kLast});
  // The embedding and the head are separate units, because each is as large as several layers.
  plan.units = {{"embed_tokens"}};
  plan.units.insert(plan.units.end(), units.begin(), units.end());
  if (lm_head_) plan.units.push_back({"lm_head"});
  const BackboneShape& shape = spec_.shape;
  plan.divisors = {{"num_attention_heads", shape.num_attention_heads},
                   {"num_key_value_heads", shape.num_key_value_heads},
                   {"intermediate_size", shape.intermediate_size}};
  plan.heads = {{lm_head_ ? "lm_head" : "embed_tokens"}};
  for (int64_t i = 0; i < shape.num_layers; ++i) {
    plan.attentions.push_back({"layers." + std::to_string(i) + ".self_attn",
                               shape.num_attention_heads, shape.num_key_value_heads, shape.head_dim,
                               spec_.is_local(i) ? spec_.attention.window : 0,
                               spec_.attention.soft_cap > 0, spec_.qk_norm});
  }
  return plan;
}

at::Tensor rotary_inv_freq(const RotarySpec& spec, int64_t head_dim, int64_t num_positions) {
  S2S_ASSERT(head_dim % 2 == 0, "rotary embedding turns pairs");
  const bool is_dynamic = spec.scaling == RotaryScaling::kDynamic;
  const double theta = is_dynamic ? grown_theta(spec, head_dim, num_positions) : spec.theta;
  at::Tensor table = at::empty({head_dim / 2}, at::TensorOptions().dtype(at::kFloat));
  float* values = table.mutable_data_ptr<float>();
  for (int64_t j = 0; j < head_dim / 2; ++j) {
    const double exponent = static_cast<double>(2 * j) / static_cast<double>(head_dim);
    double inv_freq = std::pow(theta, -exponent);
    if (spec.scaling == RotaryScaling::kLinear) inv_freq /= spec.factor;
    if (spec.scaling == RotaryScaling::kByWavelength)
      inv_freq = stretched_frequency(inv_freq, spec);
    if (spec.scaling == RotaryScaling::kYarn)
      inv_freq = yarn_frequency(inv_freq, j, spec, head_dim);
    values[j] = static_cast<float>(inv_freq);
  }
  return table;
}

std::pair<at::Tensor, at::Tensor> RotaryTables::compute(int64_t begin, int64_t end,
                                                        int64_t text_length,
                                                        at::Device device) const {
  const at::Tensor inv_freq = rotary_inv_freq(spec_, head_dim_, text_length);
  const at::Tensor half = at::arange(begin, end).to(at::kFloat).unsqueeze(1) * inv_freq;
  const at::Tensor angles_TD = at::cat({half, half}, 1);
  at::Tensor cos_TD = angles_TD.cos();
  at::Tensor sin_TD = angles_TD.sin();
  if (spec_.attention_factor != 1) {
    cos_TD.mul_(spec_.attention_factor);
    sin_TD.mul_(spec_.attention_factor);
  }
  return {cos_TD.to(device), sin_TD.to(device)};
}

void RotaryTables::grow(int64_t end, at::Device device) {
  if (cos_TD_.defined() && cos_TD_.size(0) >= end && cos_TD_.device() == device) return;
  int64_t positions = std::max<int64_t>(256, 2 * end);
  if (is_dynamic()) {
    positions = std::min(positions, static_cast<int64_t>(spec_.original_max_position_embeddings));
  }
  if (cos_TD_.defined() && !cos_TD_.is_cpu()) {
    outgrown_.insert(outgrown_.end(), {cos_TD_, sin_TD_});
  }
  std::tie(cos_TD_, sin_TD_) = compute(0, positions, positions, device);
}

std::pair<at::Tensor, at::Tensor> RotaryTables::at_positions(int64_t begin, int64_t count,
                                                             at::Device device) {
  const int64_t end = begin + count;
  if (is_dynamic()) {
    const auto original = static_cast<int64_t>(spec_.original_max_position_embeddings);
    longest_ = end < original ? 0 : std::max(longest_, end);
    if (longest_ > original) return compute(begin, end, longest_, device);
  }
  grow(end, device);
  return {cos_TD_.narrow(0, begin, count), sin_TD_.narrow(0, begin, count)};
}

std::pair<at::Tensor, at::Tensor> RotaryTables::at_position(const at::Tensor& position_1,
                                                            int64_t end) {
  grow(end, position_1.device());
  return {cos_TD_.index_select(0, position_1), sin_TD_.index_select(0, position_1)};
}

}  // namespace s2s
