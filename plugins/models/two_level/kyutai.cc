#include "kyutai.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <map>
#include <string>

#include "two_level_errors.h"

namespace s2s::two_level {
namespace {

/// Rows of a stored tensor.
struct Piece {
  std::string name;
  int64_t begin = 0;
  int64_t rows = -1;  // -1: all
};

/// How to assemble a parameter: one piece, or one per book.
struct Recipe {
  std::vector<Piece> pieces;
  bool is_stacked = false;
  int64_t turned_heads = 0;  // above 0: reorders the rotary pairs of so many heads
};

class Recipes {
 public:
  Recipes(const DecoderSpec& main, const DecoderSpec& depth, const WeightFiles& files)
      : main_(main), depth_(depth), files_(files) {}

  Recipe of(const NamedTensor& ours) const {
    const std::string& name = ours.name;
    for (const auto& [theirs, prefix] :
         {std::pair{"emb.", "embed_tokens."}, {"depformer_emb.", "depth_decoder.embed_tokens."}}) {
      if (name.starts_with(prefix)) return whole(theirs + name.substr(std::string(prefix).size()));
    }
    static const std::map<std::string, std::string> kWhole = {
        {"decoder.model.embed_tokens.weight", "text_emb.weight"},
        {"decoder.model.norm.weight", "out_norm.alpha"},
        {"decoder.lm_head.weight", "text_linear.weight"},
        {"depth_decoder.text_embed_tokens.weight", "depformer_text_emb.weight"}};
    const auto found = kWhole.find(name);
    if (found != kWhole.end()) return whole(found->second);
    if (name == "depth_decoder.input_projections.weight") return by_book("depformer_in.", "", ours);
    if (name == "depth_decoder.lm_heads.weight") return by_book("linears.", "", ours);
    const bool is_main = name.starts_with("decoder.model.layers.");
    const std::string root = is_main ? "decoder.model." : "depth_decoder.";
    const size_t end = name.find('.', root.size() + std::string("layers.").size());
    const std::string layer = (is_main ? "transformer." : "depformer.") +
                              name.substr(root.size(), end - root.size()) + ".";
    return of_layer(name.substr(end + 1), layer, ours, is_main);
  }

 private:
  static Recipe whole(std::string name) { return {{{std::move(name)}}}; }

  static Recipe by_book(const std::string& before, const std::string& after,
                        const NamedTensor& ours) {
    Recipe recipe;
    recipe.is_stacked = true;
    for (int64_t k = 0; k < ours.sizes.at(0); ++k) {
      recipe.pieces.push_back({before + std::to_string(k) + after + ".weight"});
    }
    return recipe;
  }

  Recipe of_layer(const std::string& part, const std::string& layer, const NamedTensor& ours,
                  bool is_main) const {
    if (part == "input_layernorm.weight") return whole(layer + "norm1.alpha");
    if (part == "post_attention_layernorm.weight") return whole(layer + "norm2.alpha");
    for (const auto& [mine, theirs] :
         {std::pair{"mlp.fc1", "linear_in"}, {"mlp.fc2", "linear_out"}}) {
      if (!part.starts_with(mine)) continue;
      if (is_main) return whole(layer + "gating." + theirs + ".weight");
      return by_book(layer + "gating.", std::string(".") + theirs, ours);
    }
    return of_attention(part.substr(std::string("self_attn.").size(), 1), layer, ours, is_main);
  }

  /// which: "q", "k", "v" or "o".
  Recipe of_attention(const std::string& which, const std::string& layer, const NamedTensor& ours,
                      bool is_main) const {
    const BackboneShape& shape = (is_main ? main_ : depth_).shape;
    const int64_t q = shape.num_attention_heads * shape.head_dim;
    const int64_t kv = shape.num_key_value_heads * shape.head_dim;
    const std::map<std::string, std::pair<int64_t, int64_t>> parts = {
        {"q", {0, q}}, {"k", {q, kv}}, {"v", {q + kv, kv}}, {"o", {0, shape.hidden_size}}};
    const auto [offset, rows] = parts.at(which);
    const int64_t per_book = which == "o" ? shape.hidden_size : q + 2 * kv;
    const std::string kind = layer + "self_attn." + (which == "o" ? "out_proj" : "in_proj");
    Recipe recipe;
    recipe.is_stacked = !is_main;
    for (int64_t k = 0; k < (is_main ? 1 : ours.sizes.at(0)); ++k) {
      Piece piece{kind + "s." + std::to_string(k) + ".weight", offset, rows};
      for (const char* joined : {"_weight", ".weight"}) {
        if (files_.facts().count(kind + joined) == 0) continue;
        piece.name = kind + joined;
        piece.begin += k * per_book;
      }
      recipe.pieces.push_back(std::move(piece));
    }
    if (is_main && which == "q") recipe.turned_heads = shape.num_attention_heads;
    if (is_main && which == "k") recipe.turned_heads = shape.num_key_value_heads;
    return recipe;
  }

  const DecoderSpec& main_;
  const DecoderSpec& depth_;
  const WeightFiles& files_;
};

int64_t product(at::IntArrayRef sizes) {
  int64_t all = 1;
  for (const int64_t size : sizes) all *= size;
  return all;
}

class KyutaiSource : public WeightSource {
 public:
  KyutaiSource(const std::vector<NamedTensor>& ours, const DecoderSpec& main,
               const DecoderSpec& depth, WeightFiles files)
      : files_(std::move(files)) {
    const Recipes recipes(main, depth, files_);
    std::vector<std::string> problems;
    for (const NamedTensor& member : ours) {
      Recipe recipe = recipes.of(member);
      check(member, recipe, problems);
      recipes_.emplace(member.tensor, std::move(recipe));
    }
    if (!problems.empty()) throw kyutai_weights_error(files_.path(), problems);
  }

  std::vector<const at::Tensor*> members() const override {
    std::vector<const at::Tensor*> members;
    for (const auto& [member, recipe] : recipes_) members.push_back(member);
    return members;
  }

  void write(const at::Tensor* member, const at::Tensor& destination) const override {
    const at::NoGradGuard no_grad;
    const Recipe& recipe = recipes_.at(member);
    for (size_t i = 0; i < recipe.pieces.size(); ++i) {
      const Piece& piece = recipe.pieces[i];
      at::Tensor value = piece.rows < 0 ? files_.tensor(piece.name)
                                        : files_.read(piece.name, {0, piece.begin, piece.rows});
      if (recipe.turned_heads > 0) {
        value = value.reshape({recipe.turned_heads, -1, 2, value.size(1)}).transpose(1, 2);
      }
      const at::Tensor place =
          recipe.is_stacked ? destination.select(0, static_cast<int64_t>(i)) : destination;
      place.copy_(value.reshape(place.sizes()));
    }
  }

 private:
  void check(const NamedTensor& member, const Recipe& recipe,
             std::vector<std::string>& problems) const {
    const auto pieces = static_cast<int64_t>(recipe.pieces.size());
    const int64_t expected = product(member.sizes) / pieces;
    for (const Piece& piece : recipe.pieces) {
      const auto found = files_.facts().find(piece.name);
      if (found == files_.facts().end()) {
        problems.push_back("'" + piece.name + "' is missing");
        continue;
      }
      const std::vector<int64_t>& sizes = found->second.sizes;
      const int64_t height = sizes.empty() ? 1 : sizes[0];
      const int64_t rows = piece.rows < 0 ? height : piece.rows;
      const bool fits = piece.rows < 0 || piece.begin + piece.rows <= height;
      if (!fits || product(sizes) / std::max<int64_t>(height, 1) * rows != expected) {
        problems.push_back("'" + piece.name + "' has another shape than " + member.name);
      }
    }
  }

  WeightFiles files_;
  std::map<const at::Tensor*, Recipe> recipes_;
};

}  // namespace

bool is_kyutai(const WeightFiles& files) { return files.facts().count("text_emb.weight") != 0; }

std::unique_ptr<WeightSource> kyutai_source(const std::vector<NamedTensor>& ours,
                                            const DecoderSpec& main, const DecoderSpec& depth,
                                            WeightFiles files) {
  return std::make_unique<KyutaiSource>(ours, main, depth, std::move(files));
}

}  // namespace s2s::two_level
