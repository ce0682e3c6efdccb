// What the checks say of models.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "conformance/says.h"
#include "plugins/built_plugins.h"
#include "s2s/conformance.h"
#include "s2s/nn/layers.h"

using namespace s2s;
using s2s::conformance::Answers;
using s2s::conformance::broken_promises;
using s2s::test::BuiltPlugins;
using s2s::test::says;

namespace {

/// Breaks a promise in each function. `has_loss` false: its total is a constant.
class Careless : public Model {
 public:
  explicit Careless(bool has_loss) : has_loss_(has_loss) {
    register_block("linear", linear_);
    register_block("other", other_);
  }
  BatchWeight weigh(const Batch&) override { return {4, 3, 1}; }
  LossTerms training_loss(const Batch&, const StepContext&) override {
    LossTerms loss;
    if (!has_loss_) return loss;
    loss.total = linear_(at::rand({1, 2})).sum() + calls_++;
    loss.parts["text_loss"] = loss.total;
    return loss;
  }
  MetricSums evaluate(const Batch&) override { return {{"loss", {calls_++, 1}}}; }
  std::vector<std::string> metric_names() const override { return {"accuracy"}; }
  ShardPlan configure_model(const MeshShape&) const override { return {}; }
  std::vector<StagePart> stages() override { return {{"all", {"linear", "linear"}}}; }
  NameMap checkpoint_names() const override { return {{{"linear.**", "linear.**"}}, {}}; }

 private:
  Linear linear_{2, 1}, other_{2, 1};
  bool has_loss_;
  double calls_ = 0;
};

Answers answers_of(bool has_loss) {
  Careless model(has_loss);
  model.materialize(at::kCPU, at::kFloat, 1);
  return broken_promises(model, Batch());
}

}  // namespace

TEST_CASE("a model that breaks its promises is told each of them") {
  const Answers answers = answers_of(true);
  CHECK(says(answers, "weigh() counts more positions without padding"));
  CHECK(says(answers, "the same batch with the same random numbers has another loss"));
  CHECK(says(answers, "the loss text_loss is not a detached number"));
  CHECK(says(answers, "evaluate() measures something else the second time"));
  CHECK(says(answers, "metric_names() lacks 'loss'"));
  CHECK(says(answers, "[plan/uncovered]"));
  CHECK(says(answers, "other.weight has no name in checkpoints"));
  CHECK(says(answers, "linear.weight is in 2 parts of stages()"));
  CHECK(says(answers, "other.weight is in 0 parts of stages()"));
  CHECK(says(answers_of(false), "the total loss is not a number with a gradient"));
  Careless silent(false);
  CHECK(says(broken_promises(silent), "it makes no probe batches"));
}

TEST_CASE("causal_lm keeps the promises of a model") {
  BuiltPlugins plugins;
  ModelContext context;
  context.path = "model";
  const auto model = plugins.create<Model>(
      parse_json(R"({"name": "causal_lm", "llm": {"name": "llama", "vocab_size": 50,
        "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 3,
        "num_attention_heads": 2}})",
                 "test.json"),
      context);
  model->materialize(at::kCPU, at::kFloat, 5);
  Batch batch;
  batch.text_BT = at::arange(12, at::kLong).view({2, 6});
  batch.text_labels_BT = batch.text_BT;
  CHECK(broken_promises(*model, batch) == Answers{});
  const std::vector<StagePart> parts = model->stages();
  REQUIRE(parts.size() == 5);
  CHECK(parts[1].blocks == std::vector<std::string>{"llm.layers.0"});
  CHECK(parts[4].name == "heads");
}
