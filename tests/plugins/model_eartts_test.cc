// EAR-TTS's speech model: our own rules. tests/reference compares results with NeMo.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "common/capabilities.h"
#include "plan/plan_check.h"
#include "plugins/built_plugins.h"
#include "plugins/eartts/eartts_fixture.h"
#include "plugins/stage_parts.h"
#include "s2s/conformance.h"
#include "s2s/error.h"

using namespace s2s;
using namespace s2s::test;

namespace {

struct Fixture {
  BuiltPlugins plugins;
  std::unique_ptr<Model> model(const std::string& keys = "") {
    return make_eartts(plugins.registries(), keys);
  }
  std::string id_of(const std::string& keys) {
    try {
      model(keys);
    } catch (const Error& error) {
      return error.id();
    }
    return "no error";
  }
};

double loss(Model& model, const Batch& batch, int64_t step, int64_t micro_batches = 1) {
  const at::NoGradGuard no_grad;
  StepContext context;
  context.step = step;
  context.micro_batches = micro_batches;
  return model.training_loss(batch, context).total.item<double>();
}

/// The batch with more padding after each row.
Batch padded(Batch batch, int64_t columns) {
  for (auto& [name, tensor] : batch.others) {
    std::vector<int64_t> pad(static_cast<size_t>(2 * tensor.dim()), 0);
    pad[static_cast<size_t>(2 * (tensor.dim() - 2) + 1)] = columns;
    tensor = at::constant_pad_nd(tensor, pad, 0);
  }
  return batch;
}

}  // namespace

TEST_CASE("a step's random masks depend on the step and the cut, not on padding or on the batch") {
  Fixture f;
  const auto model = f.model();
  const Batch batch = eartts_batch(1);
  const double first = loss(*model, batch, 0);
  CHECK(loss(*model, batch, 0) == first);
  CHECK(loss(*model, batch, 1) != first);
  CHECK(loss(*model, padded(batch, 3), 0) == doctest::Approx(first).epsilon(1e-5));
  Batch renamed = batch;
  renamed.ids = {"other", "cuts"};
  CHECK(loss(*model, renamed, 0) != first);
}

TEST_CASE("the loss is the mean over micro-batches, and the sum of its parts") {
  Fixture f;
  const auto model = f.model();
  const Batch batch = eartts_batch(2);
  CHECK(loss(*model, batch, 0, 4) == doctest::Approx(loss(*model, batch, 0) / 4));
  const LossTerms terms = model->training_loss(batch, {});
  double sum = 0;
  for (const char* name : {"lm_loss", "c_loss", "k_loss"}) {
    CHECK(std::abs(terms.parts.at(name).item<double>()) > 0);
    sum += terms.parts.at(name).item<double>();
  }
  CHECK(terms.total.item<double>() == doctest::Approx(sum));
  const BatchWeight weight = model->weigh(batch);
  CHECK(weight.frames == 5 + 4);
  CHECK(weight.padded_frames == 18);
  CHECK(weight.tokens == 9 * 4);
}

TEST_CASE("validation has the losses by name") {
  Fixture f;
  const auto model = f.model();
  model->train(false);
  const auto metrics = model->metrics_of(model->evaluate(eartts_batch(3)));
  for (const std::string& name : model->metric_names()) CHECK(metrics.contains(name));
  CHECK(metrics.at("loss") ==
        doctest::Approx(metrics.at("lm_loss") + metrics.at("c_loss") + metrics.at("k_loss")));
}

TEST_CASE("a subword's embedding comes from its characters, and flags from its id") {
  Fixture f;
  const auto model = f.model();
  Batch batch = eartts_batch(4);
  batch.others["context_hidden_state"].zero_();
  const auto with_ids = [&](int64_t id) {
    batch.others["subword_ids"].fill_(id);
    return loss(*model, batch, 0);
  };
  CHECK(with_ids(6) != with_ids(7));    // other characters
  CHECK(with_ids(9) == with_ids(123));  // no such ids: no characters, and the same flags
  CHECK(with_ids(0) != with_ids(1));    // the same (no) characters, other flags
}

TEST_CASE("generation follows the text, and a guidance of zero is no guidance") {
  Fixture f;
  const std::string greedy =
      R"("generation": {"num_iter": 3, "top_p_or_k": 1, "noise_scale": 0, "guidance_scale": )";
  const auto decoded = [&](const std::string& guidance, int64_t id) {
    const auto model = f.model(greedy + guidance + "}");
    model->train(false);
    const at::NoGradGuard no_grad;
    Batch batch = eartts_batch(5);
    auto inputs = batch.others;
    inputs["subword_ids"] = at::full({2, 9}, id, at::kLong);
    auto& runs = require_capability<RunsReferences>(*model, "eartts", "run");
    return runs.reference_outputs(inputs, false).at("tokens_audio_teacher");
  };
  const at::Tensor plain = decoded("null", 6);
  CHECK(plain.sizes() == at::IntArrayRef({2, 9, 4}));
  CHECK(plain.max().item<int64_t>() < 6);
  CHECK(decoded("0", 6).equal(plain));
  CHECK_FALSE(decoded("3.0", 6).equal(plain));
  CHECK_FALSE(decoded("null", 7).equal(plain));
}

TEST_CASE("the plan of EAR-TTS covers every parameter, once") {
  Fixture f;
  const auto model = f.model();
  PlanCheckInputs inputs;
  inputs.mesh.tensor = 2;
  const Findings findings = check_plan(*model, model->configure_model(inputs.mesh), inputs);
  for (const Error& error : findings.errors()) CHECK_MESSAGE(false, error.what());
  CHECK(findings.errors().empty());
}

TEST_CASE("EAR-TTS refuses options that do not fit together") {
  Fixture f;
  CHECK(f.id_of(R"("backbone_type": null)") == "eartts/backbone");
  CHECK(f.id_of(R"("cas_config": {"backbone_type": "t5"})") == "eartts/subword-encoder");
  CHECK(f.id_of(R"("cas_config": {"backbone_config": {}})") == "eartts/subword-encoder");
  CHECK(f.id_of(R"("cas_config": {"backbone_config": {"encoder": {"dropout_rate": 0.1}}})") ==
        "eartts/subword-encoder");
  CHECK(f.id_of(R"("cas_config": {"backbone_config": {"encoder": {"hidden_size": 16}}})") ==
        "eartts/sizes");
  CHECK(f.id_of(R"("mog_head_config": {"low_rank": 8})") == "eartts/sizes");
  CHECK(f.id_of(R"("pieces": [])") == "eartts/tokenizer");
  CHECK(f.id_of(R"("generation": {"top_p_or_k": 1.5})") == "eartts/top");
  CHECK(f.id_of(R"("generation": {"top_p_or_k": 0})") == "eartts/top");
  CHECK(f.id_of(R"("generation": {"top_p_or_k": 40})") == "no error");
}

TEST_CASE("a batch of another model is refused") {
  Fixture f;
  const auto model = f.model();
  Batch batch = eartts_batch(6);
  batch.others.erase("code");
  try {
    model->weigh(batch);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.id() == "eartts/batch");
  }
}

TEST_CASE("eartts keeps the promises of a model, and lists its stages") {
  Fixture f;
  check_stages(*f.model(), 2, "backbone");
  CHECK(conformance::broken_promises(*f.model(), eartts_batch(1)) == conformance::Answers{});
}
