#include "subword_encoder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "eartts_errors.h"

namespace s2s::eartts {
namespace {

/// The UTF-8 characters of a text.
std::vector<std::string> characters(const std::string& text) {
  std::vector<std::string> found;
  for (const char byte : text) {
    const bool continues = (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
    if (!continues || found.empty()) found.emplace_back();
    found.back() += byte;
  }
  return found;
}

/// 1: the subword continues a word. Includes the padding subword. Source: NeMo's
/// SubwordFlagEmbedding.
at::Tensor continuation_flags(const std::vector<std::string>& pieces) {
  std::vector<int64_t> flags;
  for (const std::string& piece : pieces) {
    const bool starts = piece.starts_with("\xC4\xA0") || piece.starts_with("\xE2\x96\x81") ||
                        piece.starts_with("<");
    flags.push_back(starts ? 0 : 1);
  }
  flags.push_back(0);
  return at::tensor(flags, at::kLong);
}

/// 1: begins a turn, 2: ends one. The largest id counts as padding. Source: NeMo's BOSEOSEmbedding.
at::Tensor turn_flags(const Vocabulary& vocabulary) {
  std::vector<int64_t> flags(std::max<size_t>(vocabulary.pieces.size(), 1), 0);
  const auto last = static_cast<int64_t>(flags.size()) - 1;
  if (vocabulary.eos >= 0 && vocabulary.eos < last) flags[static_cast<size_t>(vocabulary.eos)] = 2;
  if (vocabulary.bos >= 0 && vocabulary.bos < last) flags[static_cast<size_t>(vocabulary.bos)] = 1;
  return at::tensor(flags, at::kLong);
}

}  // namespace

SubwordCharacters characters_of(const std::vector<std::string>& pieces) {
  std::map<std::string, int64_t> rank;
  for (const std::string& piece : pieces) {
    if (characters(piece).size() != 1) continue;
    rank.emplace(piece, static_cast<int64_t>(rank.size()));
  }
  SubwordCharacters table;
  table.count = static_cast<int64_t>(rank.size());
  std::vector<std::vector<int64_t>> rows;
  for (const std::string& piece : pieces) {
    rows.emplace_back();
    for (const std::string& character : characters(piece)) {
      const auto it = rank.find(character);
      if (it != rank.end()) rows.back().push_back(it->second);
    }
  }
  rows.push_back({table.count});  // the padding subword
  size_t longest = 1;
  std::vector<int64_t> lengths;
  for (const auto& row : rows) {
    longest = std::max(longest, row.size());
    lengths.push_back(static_cast<int64_t>(row.size()));
  }
  std::vector<int64_t> ids;
  for (auto& row : rows) {
    row.resize(longest, table.count);
    ids.insert(ids.end(), row.begin(), row.end());
  }
  table.lengths_V = at::tensor(lengths, at::kLong);
  table.ids_VL = at::tensor(ids, at::kLong).view({-1, static_cast<int64_t>(longest)});
  return table;
}

FlagEmbedding::FlagEmbedding(at::Tensor flags, const std::string& flags_name,
                             const std::string& table_name, int64_t num_flags, int64_t hidden_size)
    : given_flags_(std::move(flags)),
      table_(num_flags, hidden_size,
             {Init::Kind::kNormal, 1 / std::sqrt(static_cast<double>(hidden_size))}) {
  register_buffer("pad_tensor", last_);
  register_buffer(flags_name, flags_V_);
  register_block(table_name, table_);
  FlagEmbedding::reset_buffers();
}

FlagEmbedding::~FlagEmbedding() = default;

void FlagEmbedding::reset_buffers() {
  flags_V_ = given_flags_.clone();
  last_ = at::full({}, given_flags_.size(0) - 1, at::kLong);
}

at::Tensor FlagEmbedding::operator()(const at::Tensor& ids_BT) {
  const at::Tensor known_BT = at::minimum(ids_BT, last_);
  return table_(flags_V_.index_select(0, known_BT.flatten()).view(ids_BT.sizes()));
}

SubwordEncoder::SubwordEncoder(const SubwordOptions& options, const TtsOptions& model,
                               const Vocabulary& vocabulary, int64_t hidden_size)
    : characters_(characters_of(vocabulary.pieces)),
      encoder_(options.encoder),
      embed_tokens_(characters_.count + 1, options.encoder.hidden_size, {Init::Kind::kNormal, 1.0},
                    characters_.count),
      proj_embedding_(options.encoder.hidden_size, hidden_size, /*bias=*/false) {
  const int64_t longest = characters_.ids_VL.size(1);
  const auto& window = options.encoder.sliding_window;
  if (window && *window <= longest) {
    throw bad_sizes_error(
        "model.cas_config.backbone_config.encoder.sliding_window", *window,
        "more than the characters of the longest token, " + std::to_string(longest));
  }
  const bool has_flags = model.use_subword_flag_emb || model.use_bos_eos_emb;
  if (has_flags && options.encoder.hidden_size != hidden_size) {
    throw bad_sizes_error(
        "model.cas_config.backbone_config.encoder.hidden_size", options.encoder.hidden_size,
        "the width of the backbone, " + std::to_string(hidden_size) +
            ", because flags are added to subwords; or switch use_subword_flag_emb "
            "and use_bos_eos_emb off");
  }
  register_buffer("character_ids", ids_VL_, /*persistent=*/false);
  register_buffer("character_counts", lengths_V_, /*persistent=*/false);
  register_block("backbone.encoder", encoder_);
  register_block("embed_tokens", embed_tokens_);
  register_block("proj_embedding", proj_embedding_);
  if (model.use_subword_flag_emb) {
    continues_word_ = std::make_unique<FlagEmbedding>(
        continuation_flags(vocabulary.pieces), "is_continuation", "cont_emb", 2, hidden_size);
    register_block("subword_flag_emb", *continues_word_);
  }
  if (model.use_bos_eos_emb) {
    begins_or_ends_ = std::make_unique<FlagEmbedding>(turn_flags(vocabulary), "special_flags",
                                                      "special_emb", 3, hidden_size);
    register_block("bos_eos_emb", *begins_or_ends_);
  }
  SubwordEncoder::reset_buffers();
}

SubwordEncoder::~SubwordEncoder() = default;

void SubwordEncoder::reset_buffers() {
  ids_VL_ = characters_.ids_VL.clone();
  lengths_V_ = characters_.lengths_V.clone();
}

at::Tensor SubwordEncoder::operator()(const at::Tensor& ids_BT, const at::Tensor& mask_BT) {
  const at::Tensor ids_N = ids_BT.masked_select(mask_BT);
  const int64_t num_ids = ids_VL_.size(0);
  const at::Tensor known_N = ids_N.clamp_max(num_ids - 1);
  const at::Tensor lengths_N =
      lengths_V_.index_select(0, known_N).masked_fill(ids_N.ge(num_ids), 0);
  const int64_t longest = std::max<int64_t>(lengths_N.max().item<int64_t>(), 1);
  const at::Tensor char_ids_NL = ids_VL_.slice(1, 0, longest).index_select(0, known_N);
  const at::Tensor place_L = at::arange(longest, ids_N.options());
  const at::Tensor mask_NL = place_L.unsqueeze(0).lt(lengths_N.unsqueeze(1));
  const at::Tensor states_NLH = encoder_(embed_tokens_(char_ids_NL), mask_NL);
  const at::Tensor sum_NH = (states_NLH * mask_NL.unsqueeze(-1)).sum(1);
  const at::Tensor mean_NH = proj_embedding_(sum_NH / lengths_N.clamp_min(1).unsqueeze(-1));
  std::vector<int64_t> sizes = ids_BT.sizes().vec();
  sizes.push_back(mean_NH.size(-1));
  at::Tensor embedded_BTH = at::zeros(sizes, mean_NH.options());
  embedded_BTH = embedded_BTH.masked_scatter(mask_BT.unsqueeze(-1), mean_NH);
  if (continues_word_) embedded_BTH = embedded_BTH + (*continues_word_)(ids_BT);
  if (begins_or_ends_) embedded_BTH = embedded_BTH + (*begins_or_ends_)(ids_BT);
  return embedded_BTH;
}

}  // namespace s2s::eartts
