#include "s2s/nn/decoder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "common/device.h"
#include "common/places.h"
#include "s2s/error.h"
#include "s2s/nn/weights.h"

using s2s::test::device;
using s2s::test::on_device;

namespace {

class PlainDecoder : public s2s::Decoder {
 public:
  using Decoder::Decoder;
  s2s::ShardPlan configure_model(const s2s::MeshShape&) const override { return plan_with({}, {}); }
};

s2s::DecoderSpec small_facts(int64_t kv_heads, bool tied = false) {
  s2s::DecoderSpec spec;
  spec.shape = {40, 24, 3, 4, kv_heads, 8, 36, tied};
  spec.initializer_range = 0.3;
  return spec;
}

at::Tensor run(s2s::Decoder& model, const at::Tensor& ids, s2s::SequenceState* state = nullptr) {
  s2s::SequenceInfo info;
  info.state = state;
  return model.logits(model(model.embed(ids), info));
}

/// Decodes 90 positions in pieces, also with reserved memory, which a device has and a CPU has not.
void check_pieces(const s2s::DecoderSpec& spec, const std::vector<int64_t>& counts) {
  PlainDecoder model(spec);
  model.materialize(device(), at::kFloat, 5);
  const at::NoGradGuard no_grad;
  const at::Tensor ids = at::randint(40, {2, 90}, on_device(at::kLong));
  const at::Tensor whole = run(model, ids);
  for (const bool reserves : {false, true}) {
    CAPTURE(reserves);
    s2s::SequenceState state(3);
    int64_t begin = 0;
    for (const int64_t count : counts) {
      if (reserves) state.reserve(begin + count, device());
      const at::Tensor part = run(model, ids.narrow(1, begin, count), &state);
      CHECK((part - whole.narrow(1, begin, count)).abs().max().item<float>() < 2e-4);
      begin += count;
      CHECK(state.length() == begin);
    }
    CHECK(begin == 90);
    CHECK(state.capacity() == (reserves && !device().is_cpu() ? 128 : 0));
  }
}

}  // namespace

TEST_CASE("decoding piece by piece with the state equals the whole sequence") {
  for (const int64_t kv_heads : {1, 2, 4})
    check_pieces(small_facts(kv_heads), {7, 1, 1, 66, 1, 14});
}

namespace {

/// Everything that a family may ask for, at once: every other layer is local.
s2s::DecoderSpec rich_facts(int64_t head_dim) {
  s2s::DecoderSpec spec = small_facts(2, true);
  spec.shape.head_dim = head_dim;
  spec.attention = {0.3, 1.5, 7};
  spec.local_layers = {true, false, true};
  spec.local_rotary.emplace();
  spec.local_rotary->theta = 100;
  spec.norm_weight = s2s::NormWeight::kAddedToOne;
  spec.qk_norm = spec.post_norms = true;
  spec.activation = s2s::GateActivation::kGeluTanh;
  spec.embedding_scale = 4.9;
  spec.logit_soft_cap = 2;
  return spec;
}

}  // namespace

TEST_CASE("with windows, caps and head norms, piece by piece with the state equals the whole") {
  for (const int64_t head_dim : {8, 16}) {
    for (const double soft_cap : {0.0, 1.5}) {
      s2s::DecoderSpec spec = rich_facts(head_dim);
      spec.attention.soft_cap = soft_cap;
      check_pieces(spec, {5, 1, 1, 1, 1, 40, 1, 7, 8, 1, 24});
    }
  }
}

TEST_CASE("texts longer than the original length have other angles, with reserved memory too") {
  s2s::DecoderSpec spec = small_facts(2);
  spec.rotary.original_max_position_embeddings = 128;
  CHECK(PlainDecoder(spec).steps_repeat());
  spec.rotary.scaling = s2s::RotaryScaling::kDynamic;
  CHECK_FALSE(PlainDecoder(spec).steps_repeat());
  check_pieces(spec, {30, 1, 1, 1, 50, 1, 1, 5});
}

TEST_CASE("a local layer sees its window and nothing before") {
  s2s::DecoderSpec spec = small_facts(2);
  spec.shape.num_layers = 1;
  spec.attention.window = 4;
  const at::Tensor ids = at::randint(40, {1, 12}, on_device(at::kLong));
  at::Tensor other = ids.clone();
  other.narrow(1, 0, 3).add_(1).remainder_(40);
  for (const bool is_local : {true, false}) {
    spec.local_layers = {is_local};
    PlainDecoder model(spec);
    model.materialize(device(), at::kFloat, 6);
    const at::Tensor change = (run(model, ids) - run(model, other)).abs().amax({0, 2});
    CHECK(change.narrow(0, 0, 6).min().item<float>() > 1e-4);  // position 5 sees 2, 3, 4 and 5
    CHECK((change.narrow(0, 6, 6).max().item<float>() < 1e-6) == is_local);
  }
}

TEST_CASE("every parameter of a decoder with four norms and head norms gets a gradient") {
  PlainDecoder model(rich_facts(8));
  model.materialize(device(), at::kFloat, 7);
  run(model, at::randint(40, {2, 9}, on_device(at::kLong))).square().sum().backward();
  std::vector<std::string> names;
  for (const s2s::NamedTensor& parameter : model.named_parameters()) {
    INFO(parameter.name);
    REQUIRE(parameter.tensor->grad().defined());
    CHECK(parameter.tensor->grad().abs().max().item<float>() > 0);
    names.push_back(parameter.name);
  }
  for (const char* name : {"layers.2.self_attn.q_norm.weight", "layers.2.self_attn.k_norm.weight",
                           "layers.0.pre_feedforward_layernorm.weight",
                           "layers.0.post_feedforward_layernorm.weight"}) {
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
  }
}

TEST_CASE(
    "the embedding's scale is rounded to the working type, and the cap of logits can be off") {
  s2s::DecoderSpec spec = small_facts(2);
  spec.embedding_scale = std::sqrt(3072.0);
  spec.logit_soft_cap = 2;
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    PlainDecoder model(spec);
    model.materialize(device(), type, 5);
    const at::NoGradGuard no_grad;
    const at::Tensor ids = at::arange(40, device()).unsqueeze(0);
    const at::Tensor table = model.named_parameters().front().tensor->to(at::kDouble);
    // bfloat16 has 8 bits: 55.4256 becomes 55.5.
    const double scale = type == at::kFloat ? std::sqrt(3072.0) : 55.5;
    const at::Tensor expected = (table * scale).to(type);
    CHECK(at::allclose(model.embed(ids)[0].to(at::kDouble), expected.to(at::kDouble), 1e-6, 0));
    const at::Tensor hidden = at::randn({3, 24}, device()).to(type);
    const at::Tensor free = model.logits(hidden, false).to(at::kFloat);
    const at::Tensor capped = model.logits(hidden).to(at::kFloat);
    CHECK(free.abs().max().item<float>() > 2);
    CHECK(at::allclose(capped, (free / 2).tanh() * 2, 1e-2, type == at::kFloat ? 1e-5 : 2e-2));
  }
}

TEST_CASE("a position never depends on later ones, hence not on right padding") {
  PlainDecoder model(small_facts(2));
  model.materialize(device(), at::kFloat, 6);
  const at::Tensor ids = at::randint(40, {1, 12}, on_device(at::kLong));
  at::Tensor other = ids.clone();
  other.narrow(1, 7, 5).fill_(3);
  CHECK(
      at::allclose(run(model, ids).narrow(1, 0, 7), run(model, other).narrow(1, 0, 7), 1e-5, 1e-5));
  CHECK_FALSE(at::allclose(run(model, ids), run(model, other), 1e-3, 1e-3));
}

TEST_CASE("every parameter of a decoder gets a gradient, and the same seed the same values") {
  s2s::DecoderSpec spec = small_facts(2);
  spec.qkv_bias = spec.o_bias = spec.mlp_bias = true;
  PlainDecoder model(spec);
  PlainDecoder twin(spec);
  model.materialize(device(), at::kFloat, 7);
  twin.materialize(device(), at::kFloat, 7);
  run(model, at::randint(40, {2, 9}, on_device(at::kLong))).square().sum().backward();
  auto theirs = twin.named_parameters();
  size_t i = 0;
  for (const s2s::NamedTensor& parameter : model.named_parameters()) {
    INFO(parameter.name);
    CHECK(parameter.tensor->grad().defined());
    CHECK(at::equal(*parameter.tensor, *theirs[i++].tensor));
  }
}

TEST_CASE("a single position trains keys and values whose query is frozen") {
  s2s::DecoderSpec spec = small_facts(2);
  spec.shape.head_dim = 16;
  PlainDecoder model(spec);
  model.materialize(device(), at::kFloat, 7);
  const std::string trained = "layers.0.self_attn.v_proj.weight";
  at::Tensor grad;
  for (const s2s::NamedTensor& p : model.named_parameters()) {
    p.tensor->requires_grad_(p.name == trained);
  }
  run(model, at::randint(40, {2, 1}, on_device(at::kLong))).square().sum().backward();
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
  tied.materialize(device(), at::kFloat, 1);
  CHECK(tied.head().weight.is_same(*tied.named_parameters().front().tensor));
}

TEST_CASE("a decoder whose embedding moved to another block still embeds") {
  PlainDecoder model(small_facts(2));
  s2s::Block* table = model.find_block("embed_tokens");
  model.release_block("embed_tokens");
  model.materialize(device(), at::kFloat, 1);
  table->materialize(device(), at::kFloat, 1);
  CHECK(run(model, at::zeros({1, 2}, on_device(at::kLong))).size(2) == 40);
}

TEST_CASE("dynamic scaling begins where the original length ends and grows with the text") {
  s2s::RotarySpec spec;
  const at::Tensor plain = s2s::rotary_inv_freq(spec, 8);
  spec.scaling = s2s::RotaryScaling::kDynamic;
  spec.factor = 2;
  spec.original_max_position_embeddings = 16;
  CHECK(at::allclose(s2s::rotary_inv_freq(spec, 8, 16), plain));
  // base * (2 * 32 / 16 - 1)^(8 / 6)
  const double theta = 10000 * std::pow(3.0, 8.0 / 6);
  CHECK(s2s::rotary_inv_freq(spec, 8, 32)[1].item<double>() ==
        doctest::Approx(std::pow(theta, -0.25)));
  s2s::RotaryTables tables(spec, 8);
  const auto [cos_TD, sin_TD] = tables.at_positions(31, 1, at::kCPU);
  CHECK(cos_TD[0][1].item<double>() ==
        doctest::Approx(std::cos(31 * std::pow(theta, -0.25))).epsilon(1e-4));
  CHECK(tables.at_positions(3, 2, at::kCPU).second[1][1].item<double>() ==
        doctest::Approx(std::sin(4 * std::pow(10000.0, -0.25))).epsilon(1e-4));
}

TEST_CASE("dynamic scaling goes by the longest text so far, as transformers' does") {
  const auto file =
      s2s::read_json(s2s::test::source_dir() + "/tests/reference/data/dynamic_rope.json");
  const auto number = [](const s2s::Config& value) { return std::stod(value.text()); };
  s2s::RotarySpec spec;
  spec.scaling = s2s::RotaryScaling::kDynamic;
  spec.theta = number(*file.find("theta"));
  spec.factor = number(*file.find("factor"));
  spec.original_max_position_embeddings = number(*file.find("positions"));
  s2s::RotaryTables tables(spec, static_cast<int64_t>(number(*file.find("head_dim"))));
  int64_t compared = 0;
  for (const s2s::Config& call : file.find("calls")->items()) {
    const auto begin = static_cast<int64_t>(number(*call.find("begin")));
    for (const char* name : {"cos", "sin"}) {
      std::vector<double> expected;
      for (const s2s::Config& row : call.find(name)->items()) {
        for (const s2s::Config& value : row.items()) expected.push_back(number(value));
      }
      const auto count = static_cast<int64_t>(call.find(name)->items().size());
      const auto found = tables.at_positions(begin, count, at::kCPU);
      const at::Tensor& table = name == std::string("cos") ? found.first : found.second;
      CAPTURE(begin);
      CAPTURE(count);
      CHECK(at::allclose(table.to(at::kDouble), at::tensor(expected).view({count, -1}), 0, 2e-5));
      compared += count;
    }
  }
  CHECK(compared == 2 * 102);
}

TEST_CASE("LongRoPE has other divisors beyond the original length, and does not mix them") {
  s2s::RotarySpec spec;
  const at::Tensor plain = s2s::rotary_inv_freq(spec, 4);
  spec.scaling = s2s::RotaryScaling::kLongRope;
  spec.original_max_position_embeddings = 16;
  spec.short_factors = {1, 2};
  spec.long_factors = {4, 8};
  spec.attention_factor = 1.5;
  const at::Tensor divisors = at::tensor({1.F, 2.F});
  CHECK(at::allclose(s2s::rotary_inv_freq(spec, 4, 16), plain / divisors));
  CHECK(at::allclose(s2s::rotary_inv_freq(spec, 4, 17), plain / divisors / 4));
  s2s::RotaryTables tables(spec, 4);
  const auto cosine = [&](int64_t begin, int64_t count) {
    return tables.at_positions(begin, count, at::kCPU).first[0][0].item<double>();
  };
  const auto expected = [](double angle) { return doctest::Approx(1.5 * std::cos(angle)); };
  CHECK(cosine(0, 16) == expected(0));
  CHECK(cosine(15, 1) == expected(15));
  // One position more, and the whole text turns slower; the cached keys of a prompt that is that
  // long fit to the steps after it.
  CHECK(tables.at_positions(0, 17, at::kCPU).first[15][0].item<double>() == expected(15 / 4.0));
  CHECK(cosine(17, 1) == expected(17 / 4.0));
  CHECK(cosine(400, 2) == expected(100));
  CHECK(cosine(3, 1) == expected(3));  // a short text again
  try {
    tables.at_positions(16, 1, at::kCPU);
    FAIL("the keys before have the short factors");
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "llm/long-cache");
  }
  CHECK(tables.is_dynamic());
}

TEST_CASE("YaRN keeps fast pairs, stretches slow ones, and scales cosines and sines") {
  s2s::RotarySpec spec;
  const at::Tensor plain = s2s::rotary_inv_freq(spec, 64);
  spec.scaling = s2s::RotaryScaling::kYarn;
  spec.factor = 4;
  spec.original_max_position_embeddings = 4096;
  spec.attention_factor = 1.2;
  const at::Tensor ratio = plain / s2s::rotary_inv_freq(spec, 64);
  CHECK(ratio[0].item<float>() == doctest::Approx(1));
  CHECK(ratio[31].item<float>() == doctest::Approx(4));
  CHECK((ratio.diff() > -1e-5).all().item<bool>());
  // Turns in 4096 positions fall from 32 to 1 between pairs 10.5 and 22.5.
  CHECK(ratio[10].item<float>() == doctest::Approx(1));
  CHECK(ratio[12].item<float>() > 1.01);
  CHECK(ratio[22].item<float>() < 3.9);
  CHECK(ratio[23].item<float>() == doctest::Approx(4));
  s2s::RotaryTables tables(spec, 64);
  CHECK(tables.at_positions(0, 1, at::kCPU).first[0][5].item<float>() == doctest::Approx(1.2));
}

TEST_CASE("rotary frequencies follow the three kinds of scaling") {
  s2s::RotarySpec spec;
  const at::Tensor plain = s2s::rotary_inv_freq(spec, 8);
  CHECK(plain[1].item<float>() == doctest::Approx(std::pow(10000.0, -0.25)));
  spec.scaling = s2s::RotaryScaling::kLinear;
  spec.factor = 4;
  CHECK(at::allclose(s2s::rotary_inv_freq(spec, 8), plain / 4));
  spec.scaling = s2s::RotaryScaling::kByWavelength;
  spec.original_max_position_embeddings = 64;
  const at::Tensor scaled = s2s::rotary_inv_freq(spec, 8);
  CHECK(scaled[0].item<float>() == plain[0].item<float>());      // wavelength 6.3 < 64 / 4
  CHECK(scaled[3].item<float>() == plain[3].item<float>() / 4);  // wavelength 6283 > 64
  CHECK(scaled[1].item<float>() < plain[1].item<float>());
}
