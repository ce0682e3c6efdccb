#include "plan/plan_check.h"

#include <doctest/doctest.h>

#include "core/plan/planned_layers.h"
#include "plan/plan_errors.h"
#include "plan/plan_report.h"
#include "plan/planned_model.h"

using s2s::Layout;
using s2s::ShardPlan;
using s2s::Style;
using s2s::test::PlannedLayers;

namespace {

ShardPlan good_plan() {
  return {{{"table", Style::kVocab, Layout::kFull, Layout::kSeq},
           {"layers.0", Style::kBoundary, Layout::kFull, Layout::kSeq},
           {"layers.*.norm", Style::kSequence, Layout::kSeq, Layout::kSeq},
           {"layers.*.up", Style::kColwise, Layout::kFull, Layout::kLast},
           {"layers.*.down", Style::kRowwise, Layout::kLast, Layout::kSeq}},
          {{"layers.*"}},
          {{"num_heads", 4}}};
}

std::vector<std::string> findings(s2s::Block& model, const ShardPlan& plan,
                                  const s2s::PlanCheckInputs& inputs = {}) {
  std::vector<std::string> texts;
  const s2s::Findings found = s2s::check_plan(model, plan, inputs);
  for (const s2s::Error& error : found.errors()) {
    texts.push_back(error.what());
  }
  return texts;
}

s2s::PlanCheckInputs on_tensor(int64_t tensor) {
  s2s::PlanCheckInputs inputs;
  inputs.mesh.tensor = tensor;
  return inputs;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a good plan has no findings on meshes that divide") {
  PlannedLayers model;
  CHECK(findings(model, good_plan()).empty());
  CHECK(findings(model, good_plan(), on_tensor(2)).empty());
}

TEST_CASE("plan check reports every row and unit that matches nothing, with the nearest name") {
  PlannedLayers model;
  ShardPlan plan = good_plan();
  plan.rows.push_back({"layers.*.nrom", Style::kBoundary, Layout::kSeq, Layout::kSeq});
  plan.units.push_back({"layer.*"});
  CHECK(findings(model, plan) ==
        Texts{"[plan/no-match] row 'layers.*.nrom' (boundary) matches no module; nearest: "
              "'layers.*.norm'",
              "[plan/no-match] unit 'layer.*' matches no module; nearest: 'layers.*'"});
}

TEST_CASE("plan check reports parameters without a row, and with two") {
  PlannedLayers model;
  ShardPlan plan = good_plan();
  plan.rows.erase(plan.rows.begin() + 2);
  plan.rows.push_back({"layers.1", Style::kReplicate, Layout::kFull, Layout::kFull});
  CHECK(
      findings(model, plan) ==
      Texts{"[plan/uncovered] parameters 'layers.{0,2}.norm.weight' have no row; use replicate to "
            "keep them whole",
            "[plan/two-rows] parameter 'layers.1.up.bias' is owned by 2 rows: 'layers.*.up' "
            "(colwise), 'layers.1' (replicate); keep one of them",
            "[plan/two-rows] parameter 'layers.1.up.weight' is owned by 2 rows: 'layers.*.up' "
            "(colwise), 'layers.1' (replicate); keep one of them",
            "[plan/two-rows] parameter 'layers.1.down.bias' is owned by 2 rows: 'layers.*.down' "
            "(rowwise), 'layers.1' (replicate); keep one of them",
            "[plan/two-rows] parameter 'layers.1.down.weight' is owned by 2 rows: "
            "'layers.*.down' (rowwise), 'layers.1' (replicate); keep one of them"});
}

TEST_CASE("a parameter with a dotted name belongs to the row of its block, and needs none") {
  struct Dotted : s2s::Block {
    Dotted() { register_parameter("part.weight", weight, {4, 2}, {}); }
    at::Tensor weight;
  } head;
  struct Above : s2s::Block {
    explicit Above(s2s::Block& block) { register_block("head", block); }
  } model(head);
  const ShardPlan plan{{{"head", Style::kReplicate, Layout::kFull, Layout::kFull}}, {}, {}};
  CHECK(findings(model, plan, on_tensor(2)).empty());
  const auto planned = s2s::plan_model(model, plan, on_tensor(2).mesh).parameters;
  REQUIRE(planned.size() == 1);
  CHECK(planned[0].name == "head.part.weight");
  CHECK(planned[0].rows == std::vector<size_t>{0});
  CHECK(findings(model, {}).empty());
}

TEST_CASE("plan check reports splits and numbers that do not divide, with the sizes that work") {
  PlannedLayers model;
  const Texts texts = findings(model, good_plan(), on_tensor(5));
  CHECK(texts ==
        Texts{"[plan/indivisible] 'layers.0..2.up.bias' dim 0 = 24 is not divisible by "
              "tensor_parallel = 5; sizes that work: 1, 2, 3, 4, 6, 8, 12, 24",
              "[plan/indivisible] 'layers.0..2.up.weight' dim 0 = 24 is not divisible by "
              "tensor_parallel = 5; sizes that work: 1, 2, 3, 4, 6, 8, 12, 24",
              "[plan/indivisible] 'layers.0..2.down.weight' dim 1 = 24 is not divisible by "
              "tensor_parallel = 5; sizes that work: 1, 2, 3, 4, 6, 8, 12, 24",
              "[plan/indivisible] num_heads = 4 is not divisible by tensor_parallel = 5; largest "
              "that works: 4 (sizes that work: 1, 2, 4)"});
}

TEST_CASE("the tensor axis must divide each part of a stacked weight") {
  PlannedLayers model;
  ShardPlan plan = good_plan();
  plan.divisors = {};
  plan.rows[3].stacked = 2;
  CHECK(findings(model, plan, on_tensor(4)).empty());
  CHECK(findings(model, plan, on_tensor(8)).front() ==
        "[plan/indivisible] 'layers.0..2.up.bias' dim 0 = 12 is not divisible by "
        "tensor_parallel = 8; sizes that work: 1, 2, 3, 4, 6, 12");
}

TEST_CASE("a row may be held by several ranks where the axis is larger than the number it names") {
  PlannedLayers model;
  ShardPlan plan = good_plan();
  plan.divisors = {{"num_kv_heads", 2}};
  plan.rows[3].repeats = "num_kv_heads";
  s2s::PlanCheckInputs inputs = on_tensor(8);
  CHECK(findings(model, plan, inputs).empty());
  CHECK(plan.copies(plan.rows[3], inputs.mesh) == 4);
  CHECK(plan.copies(plan.rows[4], inputs.mesh) == 1);
  s2s::PlanReportInputs report_of;
  report_of.settings.mesh = inputs.mesh;
  const s2s::PlanReport report = s2s::report_plan(model, plan, report_of);
  CHECK(report.lines[3].text() == "weight 24x12 -> 12x12 (x4: 4 ranks hold the same)");
  CHECK(report.lines[5].text() == "weight 12x24 -> 12x3");
  inputs.mesh.replicate_kv_heads = false;
  CHECK(findings(model, plan, inputs) ==
        Texts{"[plan/indivisible] num_kv_heads = 2 is not divisible by tensor_parallel = 8; "
              "largest that works: 2 (sizes that work: 1, 2; with "
              "trainer.strategy.replicate_kv_heads: true also multiples of 2)"});
  CHECK(findings(model, plan, on_tensor(3)) ==
        Texts{"[plan/indivisible] num_kv_heads = 2 is not divisible by tensor_parallel = 3; "
              "largest that works: 2 (sizes that work: 1, 2; and multiples of 2, on which several "
              "ranks hold the same one)"});
  plan.rows[3].repeats = "num_heads";
  CHECK(findings(model, plan, on_tensor(1)) ==
        Texts{"[plan/repeats] row 'layers.*.up' (colwise) repeats 'num_heads', which the plan "
              "does not define; expected one of its divisors: num_kv_heads"});
}

TEST_CASE("a vocabulary that does not divide is rounded up, each of a head's groups alone") {
  PlannedLayers model;
  ShardPlan plan = good_plan();
  plan.divisors.clear();
  plan.heads = {{"table", 2}};
  CHECK(findings(model, plan, on_tensor(3)).empty());
  s2s::PlanReportInputs inputs;
  inputs.settings.mesh.tensor = 3;
  // Two vocabularies of five rows each: two rows of each on the first ranks.
  CHECK(s2s::report_plan(model, plan, inputs).lines[0].text() == "weight 10x12 -> 4x12");
  plan.heads.push_back({"lm_head"});
  plan.attentions.push_back({"layers.*.attn", 4, 2, 6});
  CHECK(findings(model, plan) ==
        Texts{"[plan/no-match] head 'lm_head' matches no module",
              "[plan/no-match] attention 'layers.*.attn' matches no module; nearest: "
              "'layers.*.down'"});
}

TEST_CASE("what the shard axis splits is what its stage says") {
  PlannedLayers model;
  s2s::PlanReportInputs inputs;
  inputs.settings.mesh.shard = 2;
  const auto cost = [&](int stage) {
    inputs.settings.zero_stage = stage;
    return s2s::report_plan(model, good_plan(), inputs).rank;
  };
  const int64_t whole = 120 + 3 * (12 + 24 * 13 + 12 * 25), half = whole / 2;
  CHECK(cost(3).parameter_bytes == 4 * half);
  CHECK(cost(3).gradient_bytes == 4 * half);
  CHECK(cost(3).gathered_bytes == (2 * 4 + 4 + 2 * 4) * 624);
  CHECK(cost(2).parameter_bytes == 4 * whole);
  CHECK(cost(2).gradient_bytes == 4 * half);
  CHECK(cost(2).gathered_bytes == (4 + 2 * 4) * 624);
  CHECK(cost(1).gradient_bytes == 4 * whole);
  CHECK(cost(1).optimizer_bytes == 8 * half);
  inputs.is_trained = [](const std::string& name) { return name == "table.weight"; };
  CHECK(cost(3).gathered_bytes == 2 * 4 * 624);
  CHECK(cost(2).gathered_bytes == (4 + 2 * 4) * 120);
  CHECK(cost(3).parameter_bytes == 4 * half);
  inputs.settings.replicate_frozen = true;
  CHECK(cost(3).parameter_bytes == 4 * (60 + whole - 120));
  CHECK(cost(3).gathered_bytes == (2 * 4 + 4 + 2 * 4) * 120);
}

TEST_CASE("dtypes, offloading and what stays whole count") {
  PlannedLayers model;
  s2s::PlanReportInputs inputs;
  inputs.settings.mesh.shard = 4;
  const auto cost = [&] { return s2s::report_plan(model, good_plan(), inputs).rank; };
  const int64_t layer = 624, whole = 120 + 3 * layer;
  const int64_t part = 3 * 12 + 3 * (3 + 6 * 12 + 6 + 3 * 24 + 3);
  inputs.product_bytes = 2;  // autocast's copies of whole weights
  CHECK(cost().parameter_bytes == 4 * part);
  CHECK(cost().copy_bytes == 2 * 3 * 2 * 24 * 12);
  inputs.settings.recompute.what = s2s::RecomputeSettings::What::kBlocks;
  CHECK(cost().copy_bytes == 0);
  inputs.settings.recompute.what = s2s::RecomputeSettings::What::kNone;
  inputs.settings.param_dtype = at::kBFloat16;
  CHECK(cost().copy_bytes == 0);
  CHECK(cost().gathered_bytes == (2 * 2 + 2 + 2 * 2) * layer);
  inputs.settings.reduce_dtype = at::kFloat;
  CHECK(cost().gathered_bytes == (2 * 2 + 2 + 2 * 4) * layer);
  inputs.settings.zero_stage = 2;
  CHECK(cost().parameter_bytes == 2 * whole + 4 * part);
  inputs.settings.zero_stage = 3;
  inputs.settings.reshard_group_size = 2;
  CHECK(cost().gathered_bytes == (2 * 2 + 2 + 2 * 4) * layer + 2 * whole / 2);
  inputs.settings.reshard_after_forward = false;
  CHECK(cost().gathered_bytes == (2 + 2 * 4) * layer + 2 * whole);
  inputs.settings.reduce_every_micro_batch = false;
  CHECK(cost().gradient_bytes == 4 * part);
  inputs.step.micro_batches = 2;
  CHECK(cost().gradient_bytes == 4 * part + 4 * whole);
  inputs.settings = {};
  inputs.settings.mesh.shard = 4;
  inputs.product_bytes = 4;
  inputs.settings.offload = s2s::Offload::kParameters;
  CHECK(cost().host_bytes == 16 * part);
  CHECK(cost().total() == cost().gathered_bytes);
  inputs.is_trained = [](const std::string& name) { return name == "table.weight"; };
  CHECK(cost().host_bytes == 4 * part + 12 * 36);
  inputs.settings.offload = s2s::Offload::kOptimizer;
  CHECK(cost().host_bytes == 16 * 36);
  CHECK(cost().parameter_bytes == 4 * (part - 36));
}

TEST_CASE("plan check reports units that coincide and tied parameters that disagree") {
  PlannedLayers model(true);
  ShardPlan plan = good_plan();
  plan.units.push_back({"layers.1"});
  plan.units.push_back({"table"});
  plan.rows.push_back({"head", Style::kColwise, Layout::kFull, Layout::kLast});
  CHECK(findings(model, plan) ==
        Texts{"[plan/units] module 'layers.1' is a unit 2 times, by the rows 'layers.*', "
              "'layers.1'; a parameter has one innermost unit",
              "[plan/tied] 'table.weight' (vocab, unit table) and 'head.weight' (colwise, no unit) "
              "are one tensor; give both the same style and the same unit"});
}

TEST_CASE("plan check reports a mesh that is not the world") {
  PlannedLayers model;
  s2s::PlanCheckInputs inputs = on_tensor(2);
  inputs.mesh.shard = 4;
  inputs.world_size = 4;
  CHECK(findings(model, good_plan(), inputs) ==
        Texts{"[mesh/world] shard 4 x tensor 2 = 8 ranks, "
              "but the world has 4; change an axis, or start 8 ranks"});
}

TEST_CASE("a mesh is read from its axes, and what cannot be read is said") {
  const s2s::MeshShape mesh = s2s::parse_mesh("data=4,tensor=2,pipeline=3");
  CHECK(mesh.shard == 4);
  CHECK(mesh.world_size() == 24);
  for (const char* text :
       {"tensors=2", "tensor", "tensor=0", "tensor=2x", "data=2,,tensor=1", ""}) {
    CHECK_THROWS_WITH_AS(s2s::parse_mesh(text), doctest::Contains("[mesh/axes]"), s2s::Error);
  }
}

TEST_CASE("the report gives shapes and bytes of one rank without giving memory to the model") {
  PlannedLayers model;
  s2s::PlanReportInputs inputs;
  inputs.settings.mesh.tensor = 2;
  inputs.settings.mesh.shard = 3;
  inputs.is_trained = [](const std::string& name) { return name != "table.weight"; };
  const s2s::PlanReport report = s2s::report_plan(model, good_plan(), inputs);
  CHECK_FALSE(model.table.weight.defined());
  CHECK(report.num_parameters == 120 + 3 * (12 + 24 * 13 + 12 * 25));
  CHECK(report.lines[0].text() == "weight 10x12 -> 5x12");
  CHECK(report.lines[1].text() == "-");
  CHECK(report.lines[3].text() == "weight 24x12 -> 12x12");
  CHECK(report.lines[4].text() == "bias 24 -> 12");
  // table 2 x 12; per layer norm 4, up 4 x 12 + 4, down 4 x 12 + 4.
  CHECK(report.rank.parameters == 24 + 3 * (4 + 52 + 52));
  CHECK(report.rank.trained == 3 * (4 + 52 + 52));
  CHECK(report.rank.optimizer_bytes == 8 * report.rank.trained);
}

TEST_CASE("plans nest under a prefix and styles and layouts have names") {
  const ShardPlan nested = good_plan().nested_under("llm");
  CHECK(nested.rows[2].module == "llm.layers.*.norm");
  CHECK(nested.units[0].module == "llm.layers.*");
  ShardPlan inner = good_plan();
  inner.heads = {{"table"}};
  inner.attentions = {{"layers.0.attn"}};
  CHECK(inner.nested_under("llm").heads[0].module == "llm.table");
  CHECK(inner.nested_under("llm").attentions[0].module == "llm.layers.0.attn");
  ShardPlan all;
  all.append(nested);
  all.append(good_plan());
  CHECK(all.rows.size() == 10);
  CHECK(std::string(s2s::to_string(Style::kPerHead)) == "per_head");
  CHECK(std::string(s2s::to_string(Layout::kLast)) == "last");
}
