#include "kyutai.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <map>
#include <string>
#include <vector>

#include "mimi_errors.h"
#include "s2s/nn/name_map.h"

namespace s2s::mimi {
namespace {

/// Everything but queries, keys and values, each with the spellings of several versions.
NameMap kyutai_names() {
  NameMap names;
  for (const char* stack : {"encoder", "decoder"}) {
    const std::string ours = std::string(stack) + ".layers.*",
                      theirs = std::string(stack) + ".model.*";
    names.rules.push_back({ours + ".block.*.conv.*", theirs + ".block.*.conv.conv.*"});
    names.rules.push_back({ours + ".conv.*", theirs + ".conv.conv.*"});
    names.other_spellings.push_back({ours + ".conv.*", theirs + ".convtr.convtr.*"});
    const std::string layer = std::string(stack) + "_transformer.layers.*.";
    const std::string other = std::string(stack) + "_transformer.transformer.layers.*.";
    for (const auto& [mine, kyutai] : {std::pair{"input_layernorm.*", "norm1.*"},
                                       {"post_attention_layernorm.*", "norm2.*"},
                                       {"self_attn_layer_scale.scale", "layer_scale_1.scale"},
                                       {"mlp_layer_scale.scale", "layer_scale_2.scale"},
                                       {"mlp.fc1.weight", "linear1.weight"},
                                       {"mlp.fc2.weight", "linear2.weight"},
                                       {"self_attn.o_proj.weight", "self_attn.out_proj.weight"}}) {
      names.rules.push_back({layer + mine, other + kyutai});
    }
    names.other_spellings.push_back(
        {layer + "self_attn.o_proj.weight", other + "self_attn.out_projs.0.weight"});
  }
  names.rules.push_back({"downsample.conv.weight", "downsample.conv.conv.conv.weight"});
  names.rules.push_back({"upsample.conv.weight", "upsample.convtr.convtr.convtr.weight"});
  for (const auto& [half, theirs] :
       {std::pair{"semantic", "rvq_first"}, {"acoustic", "rvq_rest"}}) {
    const std::string mine = std::string("quantizer.") + half + "_residual_vector_quantizer.";
    const std::string kyutai = std::string("quantizer.") + theirs + ".";
    names.rules.push_back({mine + "input_proj.weight", kyutai + "input_proj.weight"});
    names.rules.push_back({mine + "output_proj.weight", kyutai + "output_proj.weight"});
    const std::string book = mine + "layers.*.codebook.",
                      codebook = kyutai + "vq.layers.*._codebook.";
    names.rules.push_back({book + "embed_sum", codebook + "embedding_sum"});
    names.rules.push_back({book + "cluster_usage", codebook + "cluster_usage"});
    names.rules.push_back({book + "initialized", codebook + "_initialized"});
  }
  return names;
}

/// Where a member's values are.
struct Place {
  std::string name;
  int64_t begin = 0, rows = -1;  // -1: all
  int64_t turned_heads = 0;      // above 0: rotary pairs of so many heads change their order
};

class KyutaiSource : public WeightSource {
 public:
  KyutaiSource(Block& codec, const MimiOptions& options, WeightFiles files)
      : files_(std::move(files)) {
    const NameMap names = kyutai_names();
    std::vector<std::string> problems;
    for (const NamedTensor& member : codec.named_buffers()) {
      const Place place = place_of(member, names, options);
      const auto found = files_.facts().find(place.name);
      if (found == files_.facts().end()) {
        problems.push_back("'" + place.name + "' is missing");
        continue;
      }
      std::vector<int64_t> sizes = found->second.sizes;
      if (place.rows >= 0 && place.begin + place.rows <= sizes.at(0)) sizes[0] = place.rows;
      if (sizes != member.tensor->sizes())
        problems.push_back("'" + place.name + "' has another shape");
      places_.emplace(member.tensor, place);
    }
    if (!problems.empty()) throw kyutai_error(files_.path(), problems);
  }

  std::vector<const at::Tensor*> members() const override {
    std::vector<const at::Tensor*> members;
    for (const auto& [member, place] : places_) members.push_back(member);
    return members;
  }

  void write(const at::Tensor* member, const at::Tensor& destination) const override {
    const at::NoGradGuard no_grad;
    const Place& place = places_.at(member);
    at::Tensor value = place.rows < 0 ? files_.tensor(place.name)
                                      : files_.read(place.name, {0, place.begin, place.rows});
    if (place.turned_heads > 0) {
      value = value.reshape({place.turned_heads, -1, 2, value.size(1)}).transpose(1, 2);
    }
    destination.copy_(value.reshape(destination.sizes()));
  }

 private:
  Place place_of(const NamedTensor& member, const NameMap& names,
                 const MimiOptions& options) const {
    const auto is_there = [this](const std::string& name) {
      return files_.facts().count(name) != 0;
    };
    const int64_t q = options.num_attention_heads * options.width_of_head();
    const int64_t kv = options.num_key_value_heads * options.width_of_head();
    for (const auto& [projection, begin, rows, heads] :
         {std::tuple{"q", int64_t{0}, q, options.num_attention_heads},
          {"k", q, kv, options.num_key_value_heads},
          {"v", q + kv, kv, int64_t{0}}}) {
      const NameMap joined{{{std::string("*.layers.*.self_attn.") + projection + "_proj.weight",
                             "*.transformer.layers.*.self_attn.in_proj_weight"}},
                           {},
                           {{std::string("*.layers.*.self_attn.") + projection + "_proj.weight",
                             "*.transformer.layers.*.self_attn.in_projs.0.weight"}}};
      if (!joined.to_theirs(member.name)) continue;
      return {*joined.to_theirs(member.name, is_there), begin, rows, heads};
    }
    const auto theirs = names.to_theirs(member.name, is_there);
    return {theirs.value_or(member.name)};
  }

  WeightFiles files_;
  std::map<const at::Tensor*, Place> places_;
};

}  // namespace

bool is_kyutai(const WeightFiles& files) {
  return files.facts().count("encoder.model.0.conv.conv.weight") != 0;
}

std::unique_ptr<WeightSource> kyutai_source(Block& codec, const MimiOptions& options,
                                            WeightFiles files) {
  return std::make_unique<KyutaiSource>(codec, options, std::move(files));
}

}  // namespace s2s::mimi
