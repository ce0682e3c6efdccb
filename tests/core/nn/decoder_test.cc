#include "s2s/decoder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <cmath>

namespace {

class PlainDecoder : public s2s::Decoder {
 public:
  using Decoder::Decoder;
  s2s::ShardPlan configure_model(const s2s::MeshShape&) const override { return plan_with({}, {}); }
};

s2s::DecoderFacts small_facts(int64_t kv_heads, bool tied = false) {
  s2s::DecoderFacts facts;
  facts.shape = {40, 24, 3, 4, kv_heads, 8, 36, tied};
  facts.initializer_range = 0.3;
  return facts;
}

at::Tensor run(s2s::Decoder& model, const at::Tensor& ids, s2s::KvCache* cache = nullptr) {
  s2s::SequenceInfo info;
  info.cache = cache;
  return model.logits(model(model.embed(ids), info));
}

}  // namespace

TEST_CASE("decoding piece by piece with the cache equals the whole sequence") {
  for (const int64_t kv_heads : {1, 2, 4}) {
    PlainDecoder model(small_facts(kv_heads));
    model.materialize(at::kCPU, at::kFloat, 5);
    const at::NoGradGuard no_grad;
    const at::Tensor ids = at::randint(40, {2, 90}, at::kLong);
    const at::Tensor whole = run(model, ids);
    s2s::KvCache cache(3);
    int64_t begin = 0;
    for (const int64_t count : {7, 1, 1, 66, 1, 14}) {
      const at::Tensor part = run(model, ids.narrow(1, begin, count), &cache);
      CHECK((part - whole.narrow(1, begin, count)).abs().max().item<float>() < 2e-4);
      begin += count;
      CHECK(cache.length() == begin);
    }
  }
}

TEST_CASE("a position never depends on later ones, hence not on right padding") {
  PlainDecoder model(small_facts(2));
  model.materialize(at::kCPU, at::kFloat, 6);
  const at::Tensor ids = at::randint(40, {1, 12}, at::kLong);
  at::Tensor other = ids.clone();
  other.narrow(1, 7, 5).fill_(3);
  CHECK(
      at::allclose(run(model, ids).narrow(1, 0, 7), run(model, other).narrow(1, 0, 7), 1e-5, 1e-5));
  CHECK_FALSE(at::allclose(run(model, ids), run(model, other), 1e-3, 1e-3));
}

TEST_CASE("every parameter of a decoder gets a gradient, and the same seed the same values") {
  s2s::DecoderFacts facts = small_facts(2);
  facts.qkv_bias = facts.o_bias = facts.mlp_bias = true;
  PlainDecoder model(facts);
  PlainDecoder twin(facts);
  model.materialize(at::kCPU, at::kFloat, 7);
  twin.materialize(at::kCPU, at::kFloat, 7);
  run(model, at::randint(40, {2, 9}, at::kLong)).square().sum().backward();
  auto theirs = twin.named_parameters();
  size_t i = 0;
  for (const s2s::NamedTensor& parameter : model.named_parameters()) {
    INFO(parameter.name);
    CHECK(parameter.tensor->grad().defined());
    CHECK(at::equal(*parameter.tensor, *theirs[i++].tensor));
  }
}

TEST_CASE("a single position trains keys and values whose query is frozen") {
  s2s::DecoderFacts facts = small_facts(2);
  facts.shape.head_dim = 16;
  PlainDecoder model(facts);
  model.materialize(at::kCPU, at::kFloat, 7);
  const std::string trained = "layers.0.self_attn.v_proj.weight";
  at::Tensor grad;
  for (const s2s::NamedTensor& p : model.named_parameters()) {
    p.tensor->requires_grad_(p.name == trained);
  }
  run(model, at::randint(40, {2, 1}, at::kLong)).square().sum().backward();
  for (const s2s::NamedTensor& p : model.named_parameters()) {
    if (p.name == trained) grad = p.tensor->grad();
  }
  REQUIRE(grad.defined());
  CHECK(grad.abs().max().item<float>() > 0);
}

TEST_CASE("a tied decoder has no head of its own and maps checkpoint names both ways") {
  PlainDecoder tied(small_facts(2, true));
  PlainDecoder untied(small_facts(2));
  CHECK(tied.find_block("lm_head") == nullptr);
  CHECK(untied.find_block("lm_head") != nullptr);
  CHECK(tied.checkpoint_names().is_ignored("lm_head.weight"));
  CHECK(untied.checkpoint_names().to_theirs("lm_head.weight") == "lm_head.weight");
  CHECK(untied.checkpoint_names().to_theirs("layers.1.mlp.up_proj.weight") ==
        "model.layers.1.mlp.up_proj.weight");
  tied.materialize(at::kCPU, at::kFloat, 1);
  CHECK(tied.head_weight().is_same(*tied.named_parameters().front().tensor));
}

TEST_CASE("a decoder whose embedding moved to another block still embeds") {
  PlainDecoder model(small_facts(2));
  s2s::Block* table = model.find_block("embed_tokens");
  model.release_block("embed_tokens");
  model.materialize(at::kCPU, at::kFloat, 1);
  table->materialize(at::kCPU, at::kFloat, 1);
  CHECK(run(model, at::zeros({1, 2}, at::kLong)).size(2) == 40);
}

TEST_CASE("rotary frequencies follow the three kinds of scaling") {
  s2s::RotaryFacts facts;
  const at::Tensor plain = s2s::rotary_inv_freq(facts, 8);
  CHECK(plain[1].item<float>() == doctest::Approx(std::pow(10000.0, -0.25)));
  facts.scaling = s2s::RotaryScaling::kLinear;
  facts.factor = 4;
  CHECK(at::allclose(s2s::rotary_inv_freq(facts, 8), plain / 4));
  facts.scaling = s2s::RotaryScaling::kByWavelength;
  facts.original_max_position_embeddings = 64;
  const at::Tensor scaled = s2s::rotary_inv_freq(facts, 8);
  CHECK(scaled[0].item<float>() == plain[0].item<float>());      // wavelength 6.3 < 64 / 4
  CHECK(scaled[3].item<float>() == plain[3].item<float>() / 4);  // wavelength 6283 > 64
  CHECK(scaled[1].item<float>() < plain[1].item<float>());
}
