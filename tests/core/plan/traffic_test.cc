#include "plan/traffic.h"

#include <doctest/doctest.h>

#include "core/plan/planned_layers.h"
#include "plan/plan_report.h"

using s2s::Layout;
using s2s::ShardPlan;
using s2s::Style;
using s2s::test::PlannedLayers;

namespace {

ShardPlan plan() {
  return {{{"table", Style::kVocab, Layout::kFull, Layout::kFull},
           {"layers.0", Style::kBoundary, Layout::kFull, Layout::kSeq},
           {"layers.*.norm", Style::kSequence, Layout::kSeq, Layout::kSeq},
           {"layers.*.up", Style::kColwise, Layout::kFull, Layout::kLast},
           {"layers.*.down", Style::kRowwise, Layout::kLast, Layout::kSeq}},
          {{"layers.*"}},
          {}};
}

s2s::PlanReportInputs inputs_of(const std::string& mesh) {
  s2s::PlanReportInputs inputs;
  inputs.settings.mesh = s2s::parse_mesh(mesh);
  return inputs;
}

s2s::Traffic traffic(const s2s::PlanReportInputs& inputs, const ShardPlan& of = plan()) {
  PlannedLayers model;
  return s2s::report_plan(model, of, inputs).traffic;
}

}  // namespace

TEST_CASE("one rank sends nothing") {
  const s2s::Traffic none = traffic(inputs_of("data=1"));
  CHECK(none.total() == 0);
  CHECK(none.not_counted.empty());
}

TEST_CASE("the shard axis gathers units twice and the rest once, and reduces gradients once") {
  s2s::PlanReportInputs inputs = inputs_of("data=2");
  // A rank holds 60 numbers of the table, and of each layer 6 + 144 + 12 + 144 + 6.
  CHECK(traffic(inputs).shard_gather == 4 * (60 + 2 * 3 * 312));
  CHECK(traffic(inputs).shard_reduce == 4 * (60 + 3 * 312));
  CHECK(traffic(inputs).total() == 4 * (120 + 3 * 3 * 312));
  inputs.step.micro_batches = 3;
  inputs.settings.param_dtype = at::kBFloat16;
  inputs.settings.reduce_dtype = at::kFloat;
  // The table belongs to no unit: it is gathered after the update.
  CHECK(traffic(inputs).shard_gather == 2 * (60 + 3 * 2 * 3 * 312));
  CHECK(traffic(inputs).shard_reduce == 3 * 4 * (60 + 3 * 312));
  // Three other ranks; dim 0 of 10, 12 and 24 in four parts, rounded up.
  CHECK(traffic(inputs_of("data=4")).shard_reduce == 4 * 3 * (36 + 3 * (3 + 72 + 6 + 72 + 3)));
}

TEST_CASE("frozen parameters are gathered and their gradients are not reduced") {
  s2s::PlanReportInputs inputs = inputs_of("data=2,replicate=2");
  inputs.is_trained = [](const std::string& name) { return !name.starts_with("layers."); };
  CHECK(traffic(inputs).shard_gather == 4 * (60 + 2 * 3 * 312));
  CHECK(traffic(inputs).shard_reduce == 4 * 60);
  CHECK(traffic(inputs).replicate_reduce == 4 * 60);
}

TEST_CASE("the replicate axis reduces gradients once in a step, whatever the micro-batches") {
  s2s::PlanReportInputs inputs = inputs_of("replicate=4");
  inputs.step.micro_batches = 5;
  CHECK(traffic(inputs).replicate_reduce == 4 * 2 * 3 * (120 + 3 * 624) / 4);
  CHECK(traffic(inputs).shard_gather == 0);
  CHECK(traffic(inputs).total() == traffic(inputs).replicate_reduce);
}

TEST_CASE(
    "the tensor axis moves activations at its boundaries and the gradients of whole weights") {
  s2s::PlanReportInputs inputs = inputs_of("tensor=2");
  // Table 2 x 12, the first layer's boundary 1 x 12, three times down 2 x 12; half of it is sent.
  CHECK(traffic(inputs).tensor_per_position.all_reduce == 4 * 24 / 2.0);
  CHECK(traffic(inputs).tensor_per_position.all_gather == 4 * (12 + 36) / 2.0);
  CHECK(traffic(inputs).tensor_per_position.reduce_scatter == 4 * 36 / 2.0);
  // Of each layer a norm and the bias of down, which see a part of the positions.
  CHECK(traffic(inputs).tensor_gradients == 4 * 3 * (12 + 12));
  CHECK_FALSE(traffic(inputs).total().has_value());
  inputs.step = {2, 5, 2};
  CHECK(traffic(inputs).tensor_activations == 2 * 10 * 4 * 54);
  CHECK(traffic(inputs).total() == 2 * 10 * 4 * 54 + 4 * 3 * 24);
  inputs.settings.mesh.sequence_parallel = false;
  CHECK(traffic(inputs).tensor_per_position.total() == 4 * (24 + 72) / 2.0);
  CHECK(traffic(inputs).tensor_per_position.all_reduce == 4 * (24 + 72) / 2.0);
  CHECK(traffic(inputs).tensor_gradients == 0);
}

TEST_CASE("a boundary from split to whole positions costs what one all-reduce costs") {
  ShardPlan boundaries;
  boundaries.rows = {{"layers.*", Style::kBoundary, Layout::kSeq, Layout::kFull},
                     {"", Style::kReplicate, Layout::kFull, Layout::kFull}};
  s2s::PlanReportInputs inputs = inputs_of("tensor=2");
  const s2s::Traffic unknown = traffic(inputs, boundaries);
  CHECK(unknown.tensor_per_position.total() == 0);
  CHECK(unknown.not_counted.size() == 3);
  CHECK(unknown.not_counted[0] == "'layers.0': the width of its activation is unknown");
  boundaries.rows.back() = {"layers.*.up", Style::kColwise, Layout::kFull, Layout::kLast};
  CHECK(traffic(inputs, boundaries).tensor_per_position.total() == 3 * 4 * 2 * 12 / 2.0);
  inputs.settings.mesh.sequence_parallel = false;
  CHECK(traffic(inputs, boundaries).tensor_per_position.total() == 3 * 4 * 2 * 12 / 2.0);
}

TEST_CASE("what is not counted is said") {
  ShardPlan plan_with_custom = plan();
  plan_with_custom.rows[0].style = Style::kCustom;
  const s2s::Traffic partly = traffic(inputs_of("tensor=2,context=2,pipeline=2"), plan_with_custom);
  REQUIRE(partly.not_counted.size() == 3);
  CHECK(partly.not_counted[0] == "row 'table' (custom): only its strategy knows its traffic");
  CHECK(partly.not_counted[1].find("the pipeline axis") == 0);
  CHECK(partly.not_counted[2].find("the context axis") == 0);
}

TEST_CASE("the printed plan says the traffic of the axes that the mesh has") {
  PlannedLayers model;
  const auto text = [&](const std::string& mesh, int64_t positions) {
    s2s::PlanReportInputs inputs = inputs_of(mesh);
    inputs.step.length = positions;
    return s2s::format_plan(s2s::report_plan(model, plan(), inputs));
  };
  CHECK(text("data=1", 0).find("traffic     0 B: one rank sends nothing\n") != std::string::npos);
  const std::string sharded = text("data=2", 0);
  CHECK(sharded.find("parameters all-gather 7.7 kB, gradients reduce-scatter 4.0 kB") !=
        std::string::npos);
  CHECK(sharded.find("replicate  ") == std::string::npos);
  CHECK(text("tensor=2", 0)
            .find("per position of a micro-batch 216 B: all-gather 96 B, "
                  "reduce-scatter 72 B, all-reduce 48 B\n") != std::string::npos);
  CHECK(text("tensor=2", 10).find("activations 2.2 kB: all-gather 960 B") != std::string::npos);
}

TEST_CASE("before stage 3 the shard axis gathers what was updated, once in a step") {
  s2s::PlanReportInputs inputs = inputs_of("data=2");
  inputs.step.micro_batches = 3;
  inputs.settings.zero_stage = 2;
  CHECK(traffic(inputs).shard_gather == 4 * (60 + 3 * 312));
  CHECK(traffic(inputs).shard_reduce == 3 * 4 * (60 + 3 * 312));
  inputs.settings.zero_stage = 1;
  CHECK(traffic(inputs).shard_gather == 4 * (60 + 3 * 312));
  CHECK(traffic(inputs).shard_reduce == 4 * (60 + 3 * 312));
  inputs.is_trained = [](const std::string& name) { return !name.starts_with("layers."); };
  CHECK(traffic(inputs).shard_gather == 4 * 60);
}

TEST_CASE("a split head sums its input's gradient and three numbers of each vocabulary") {
  s2s::PlanReportInputs inputs = inputs_of("tensor=2");
  ShardPlan with_head = plan();
  with_head.heads = {{"table", 5}};
  const double without = traffic(inputs).tensor_per_position.all_reduce;
  CHECK(traffic(inputs, with_head).tensor_per_position.all_reduce ==
        without + 2 * (12 * 4 + 5 * 3 * 4) / 2.0);
  with_head.rows[0].style = Style::kReplicate;
  CHECK(traffic(inputs, with_head).tensor_per_position.all_reduce == 0);
}

TEST_CASE("a decoder's last norm gathers positions that were split") {
  ShardPlan last;
  last.rows = {{"layers.*.norm", Style::kSequence, Layout::kSeq, Layout::kFull}};
  s2s::PlanReportInputs inputs = inputs_of("tensor=4");
  CHECK(traffic(inputs, last).tensor_per_position.all_gather == 3 * 4 * 12 * 3 / 4.0);
  CHECK(traffic(inputs, last).tensor_per_position.total() == 3 * 4 * 12 * 3 / 4.0);
  inputs.settings.mesh.sequence_parallel = false;
  CHECK(traffic(inputs, last).tensor_per_position.total() == 0);
}

TEST_CASE("ranks that hold the same part of a repeated row sum its gradient") {
  ShardPlan repeated = plan();
  repeated.rows[3].repeats = "num_heads";
  repeated.divisors = {{"num_heads", 2}};
  s2s::PlanReportInputs inputs = inputs_of("tensor=8");
  inputs.settings.mesh.sequence_parallel = false;
  // Of up 24 x 12 and 24 a rank holds a half, and four ranks the same.
  CHECK(traffic(inputs, repeated).tensor_gradients == 3 * 4 * 2 * (12 * 12 + 12) * 3 / 4);
  inputs.settings.mesh.replicate_kv_heads = false;
  CHECK(traffic(inputs, repeated).tensor_gradients == 0);
}

TEST_CASE("what is gathered and reduced how often is what the layout says") {
  s2s::PlanReportInputs inputs = inputs_of("data=4");
  const int64_t table = 36, layers = 3 * (3 + 72 + 6 + 72 + 3), whole = 3 * 624;
  inputs.step.micro_batches = 2;
  inputs.settings.reshard_after_forward = false;
  CHECK(traffic(inputs).shard_gather == 4 * 3 * (table + 2 * layers));
  inputs.settings.reshard_after_forward = true;
  inputs.settings.reshard_group_size = 2;
  CHECK(traffic(inputs).shard_gather == 4 * (3 * (table + 2 * layers) + 2 * whole / 2));
  CHECK(traffic(inputs).shard_reduce == 4 * 3 * 2 * (table + layers));
  inputs.settings.reduce_every_micro_batch = false;
  CHECK(traffic(inputs).shard_reduce == 4 * 3 * (table + layers));
  inputs.settings.replicate_frozen = true;
  inputs.is_trained = [](const std::string& name) { return !name.starts_with("layers."); };
  CHECK(traffic(inputs).shard_gather == 4 * 3 * table);
}
