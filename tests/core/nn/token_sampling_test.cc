#include "s2s/nn/token_sampling.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/device.h"
#include "common/places.h"
#include "s2s/nn/decoder.h"

using s2s::test::device;
using s2s::test::on_device;

namespace {

using nlohmann::json;

at::Tensor rows_of(const json& rows, at::ScalarType type) {
  std::vector<double> numbers;
  for (const json& row : rows) {
    for (const json& value : row) {
      numbers.push_back(value.is_null() ? -INFINITY : value.get<double>());
    }
  }
  const auto height = static_cast<int64_t>(rows.size());
  return at::tensor(numbers).to(device()).view({height, -1}).to(type);
}

s2s::SamplingOptions options_of(const json& keys) {
  s2s::SamplingOptions options;
  options.temperature = keys.value("temperature", 0.0);
  options.top_k = keys.value("top_k", 0);
  options.top_p = keys.value("top_p", 1.0);
  options.repetition_penalty = keys.value("repetition_penalty", 1.0);
  options.no_repeat_ngram_size = keys.value("no_repeat_ngram_size", 0);
  return options;
}

class PlainDecoder : public s2s::Decoder {
 public:
  using Decoder::Decoder;
  s2s::ShardPlan configure_model(const s2s::MeshShape&) const override { return plan_with({}, {}); }
};

}  // namespace

TEST_CASE("guards and filters give the scores of transformers' logits processors") {
  std::ifstream file(s2s::test::source_dir() + "/tests/reference/data/sampling.json");
  const json cases = json::parse(file);
  CHECK(cases.size() > 10);
  for (const json& c : cases) {
    CAPTURE(c["options"].dump());
    const at::Tensor expected = rows_of(c["scores"], at::kFloat);
    const at::Tensor scores =
        s2s::sampling_scores(rows_of(c["logits"], at::kFloat), rows_of(c["so_far"], at::kLong),
                             options_of(c["options"]));
    CHECK(at::equal(scores.isinf(), expected.isinf()));
    CHECK(at::allclose(scores.nan_to_num(0, 0, 0), expected.nan_to_num(0, 0, 0), 1e-6, 1e-6));
  }
}

TEST_CASE("without options the likeliest token is chosen") {
  s2s::Sampler sampler{s2s::SamplingOptions()};
  const at::Tensor logits = at::randn({5, 30}, device());
  CHECK(
      at::equal(sampler.next(logits, at::zeros({5, 1}, on_device(at::kLong))), logits.argmax(-1)));
}

TEST_CASE("draws follow the chances, one seed draws the same, and nothing excluded is drawn") {
  s2s::SamplingOptions options;
  options.temperature = 2;
  options.top_k = 3;
  options.seed = 11;
  const at::Tensor logits = at::tensor({2.0, -1.0, 0.0, 4.0, 1.0}).to(device()).expand({40000, 5});
  const at::Tensor none = at::zeros({40000, 1}, on_device(at::kLong));
  s2s::Sampler sampler(options);
  const at::Tensor drawn = sampler.next(logits, none);
  const at::Tensor shares = drawn.bincount({}, 5).to(at::kDouble) / 40000;
  const at::Tensor chances =
      at::tensor({1.0, -INFINITY, -INFINITY, 2.0, 0.5}, on_device(at::kDouble)).softmax(-1);
  CHECK((shares - chances).abs().max().item<double>() < 0.01);
  CHECK(shares[1].item<double>() == 0);
  CHECK(shares[2].item<double>() == 0);
  CHECK(at::equal(s2s::Sampler(options).next(logits, none), drawn));
  CHECK_FALSE(at::equal(sampler.next(logits, none), drawn));
  options.seed = 12;
  CHECK_FALSE(at::equal(s2s::Sampler(options).next(logits, none), drawn));
}

TEST_CASE("generation continues a prompt, and a guard keeps it from repeating itself") {
  s2s::DecoderSpec spec;
  spec.shape = {40, 24, 2, 4, 2, 8, 36, true};
  spec.initializer_range = 0.3;
  spec.attention.window = 5;
  spec.local_layers = {true, false};
  PlainDecoder model(spec);
  model.materialize(device(), at::kFloat, 5);
  const at::NoGradGuard no_grad;
  const at::Tensor prompt = at::randint(40, {2, 3}, on_device(at::kLong));
  s2s::Sampler greedy{s2s::SamplingOptions()};
  const at::Tensor tokens = s2s::generate_tokens(model, prompt, 12, greedy);
  const at::Tensor all = at::cat({prompt, tokens}, 1);
  const at::Tensor logits = model.logits(model(model.embed(all), s2s::SequenceInfo()));
  CHECK(at::equal(logits.argmax(-1).slice(1, 2, 14), tokens));

  s2s::SamplingOptions guard;
  guard.no_repeat_ngram_size = 1;
  s2s::Sampler guarded(guard);
  const at::Tensor different =
      at::cat({prompt, s2s::generate_tokens(model, prompt, 30, guarded)}, 1);
  for (int64_t row = 0; row < 2; ++row) {
    const auto counts = different[row].bincount({}, 40);
    CHECK(counts.max().item<int64_t>() <= prompt[row].bincount({}, 40).max().item<int64_t>());
  }
}

TEST_CASE("the penalty passes over what was no token") {
  s2s::SamplingOptions options;
  options.repetition_penalty = 2;
  const at::Tensor logits = at::tensor({4.0F, -3.0F, 1.0F}).to(device()).unsqueeze(0);
  const auto scores = [&](const at::Tensor& so_far) {
    return s2s::sampling_scores(logits, so_far, options);
  };
  CHECK(at::equal(scores(at::tensor({-1, -1}, on_device(at::kLong)).unsqueeze(0)), logits));
  CHECK(at::equal(scores(at::empty({1, 0}, on_device(at::kLong))), logits));
  CHECK(at::equal(scores(at::tensor({-1, 0, 1, 0}, on_device(at::kLong)).unsqueeze(0)),
                  at::tensor({2.0F, -6.0F, 1.0F}).to(device()).unsqueeze(0)));
}
