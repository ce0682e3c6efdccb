// Plans of 32 and 70 billion parameters on 8 and 64 GPUs, counted a second time: from the published
// sizes of the models and the formulas for FSDP2 and ring collectives, without the plan's rows.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "common/places.h"

namespace {

using Json = nlohmann::json;

/// The sizes that config.json of the model has.
struct Model {
  const char* words;
  int64_t vocabulary, width, mlp, layers, heads, kv_heads, head;
  bool has_qkv_biases;
};

const Model kQwen32b = {
    "model.llm.name=qwen model.llm.preset=qwen_2.5_32b", 152064, 5120, 27648, 64, 40, 8, 128, true};
const Model kLlama70b = {"model.llm.name=llama model.llm.preset=llama_3.1_70b",
                         128256,
                         8192,
                         28672,
                         80,
                         64,
                         8,
                         128,
                         false};

struct Layout {
  const char* words;
  int64_t replicate, shard, tensor;
  int64_t ranks() const { return replicate * shard * tensor; }
};

constexpr int64_t kPositions = 4096, kMicroBatches = 4;

// bf16-mixed with param_dtype bfloat16 and reduce_dtype float32: FSDP2's MixedPrecisionPolicy.
constexpr int64_t kStored = 4, kGathered = 2, kReduced = 4;

Json plan_of(const Model& model, const Layout& layout) {
  const auto result = s2s::test::run_cli(
      "plan --json " + s2s::test::source_dir() + "/tests/cli/golden/plan_tinyllama.yaml " +
      model.words + " " + layout.words + " --world-size " + std::to_string(layout.ranks()) +
      " --sequence-length " + std::to_string(kPositions) +
      " trainer.accumulate_grad_batches=" + std::to_string(kMicroBatches) +
      " trainer.precision=bf16-mixed trainer.strategy.param_dtype=bfloat16"
      " trainer.strategy.reduce_dtype=float32 --gpu-memory 80GB");
  REQUIRE_MESSAGE(result.exit_code == 0, result.output);
  return Json::parse(result.output);
}

/// Elements that one rank of the tensor axis has.
struct Elements {
  int64_t norms, layer, table;
  int64_t all_norms, all;
};

Elements elements_of(const Model& m, int64_t tensor) {
  const int64_t queries = m.heads * m.head, keys = m.kv_heads * m.head;
  Elements e{};
  e.norms = 2 * m.width;  // of a layer; whole on every tensor rank
  const int64_t split = 2 * m.width * queries + 2 * m.width * keys + 3 * m.width * m.mlp +
                        (m.has_qkv_biases ? queries + 2 * keys : 0);
  e.layer = split / tensor + e.norms;
  e.table = m.vocabulary * m.width / tensor;  // the embedding, and as many of the head
  e.all_norms = m.layers * e.norms + m.width;
  e.all = m.layers * e.layer + 2 * e.table + m.width;
  return e;
}

int64_t sent(int64_t bytes, int64_t ranks) { return bytes / ranks * (ranks - 1); }

void check_memory(const Json& plan, const Elements& e, int64_t shard) {
  const Json& rank = plan["per_rank"];
  // 16 / N bytes of each element: a float32 shard, its gradient, and two moments. Every size
  // divides by N, so no padding is among them.
  const int64_t held = e.all / shard;
  CHECK(e.all % shard == 0);
  CHECK(rank["parameters"] == held);
  CHECK(rank["trained"] == held);
  CHECK(rank["parameter_bytes"] == kStored * held);
  CHECK(rank["gradient_bytes"] == kStored * held);
  CHECK(rank["optimizer_bytes"] == 2 * kStored * held);
  CHECK(rank["autocast_bytes"] == 0);  // unsharded parameters are bfloat16 already
  CHECK(rank["host_bytes"] == 0);
  // FSDP2 has 16 bytes of the largest unit: two units unsharded (2 x 2), a gather buffer (2), the
  // gradient of autograd (2), and two buffers of the reduction (2 x 4). The engine gathers in
  // place, so 2 of these bytes are not there.
  const int64_t largest = std::max(e.layer, e.table);
  CHECK(rank["gathered_bytes"] == (16 - kGathered) * largest);
}

void check_activations(const Json& plan, const Model& m, const Elements& e, int64_t tensor) {
  const Json& kept = plan["per_rank"]["activations"];
  // In bfloat16: inputs of two norms, of q, k and v, of o, of gate and up; queries, keys and values
  // with keys and values repeated, the result; gate, up, their product; and float32 numbers of each
  // norm and head. Norms have their share of positions, all else its share of the width.
  const bool repeats = m.kv_heads / tensor > 1;
  const int64_t heads = m.heads / tensor, keys = repeats ? heads : 1;
  const int64_t norms = 2 * (2 * m.width + 4) / tensor;
  const int64_t inputs = 2 * 2 * m.width;
  const int64_t attention = 2 * m.head * (2 * heads + 2 * keys) + 4 * heads;
  const int64_t mlp = 2 * 3 * m.mlp / tensor;
  const int64_t block = norms + inputs + attention + mlp;
  CHECK(kept["largest_block"]["bytes_per_position"] == block);
  CHECK(kept["largest_block"]["bytes"] == block * kPositions);
  const int64_t last_norm = (2 * m.width + 4) * kPositions / tensor;
  const int64_t head = 2 * m.width * kPositions;
  const int64_t head_gradient = kGathered * e.table;
  CHECK(kept["none_recomputed"]["bytes"] ==
        m.layers * block * kPositions + last_norm + head + head_gradient);
  CHECK(kept["every_block_recomputed"]["bytes"] ==
        m.layers * 2 * m.width * kPositions / tensor + last_norm + head + head_gradient);
}

void check_traffic(const Json& plan, const Elements& e, const Layout& layout) {
  const Json& traffic = plan["traffic_per_step"];
  // 3 P (N-1)/N elements of a micro-batch. Two differences: the head is gathered once, because the
  // loss runs its backward at once; the last norm, in no unit, is gathered once in a step.
  const int64_t last_norm = e.all_norms % e.norms;
  const int64_t twice = e.all - e.table - last_norm;
  CHECK(traffic["shard_gather_bytes"] ==
        sent(kGathered * (kMicroBatches * (2 * twice + e.table) + last_norm), layout.shard));
  CHECK(traffic["shard_reduce_bytes"] == sent(kReduced * kMicroBatches * e.all, layout.shard));
  // 2 (P/W) (R-1)/R between replicas, once in a step.
  CHECK(traffic["replicate_reduce_bytes"] ==
        sent(2 * kStored * e.all / layout.shard, layout.replicate));
  CHECK(traffic["tensor_gradient_bytes"] ==
        sent(2 * kStored * e.all_norms / layout.shard, layout.tensor));
}

/// Split sequences: in each layer an all-gather before attention and MLP and a reduce-scatter after
/// them, and the other way round in the backward.
void check_tensor_traffic(const Json& plan, const Model& m, const Layout& layout) {
  const Json& traffic = plan["traffic_per_step"];
  const int64_t positions = kMicroBatches * kPositions, one = 2 * m.width;
  const int64_t gathers = m.layers * 4 + 2;  // the first layer's slice, and the last norm
  const int64_t scatters = m.layers * 4;
  // Embedding and head: an all-reduce each, and three float32 numbers of the loss.
  const int64_t reduced = 2 * (2 * one + 3 * 4);
  const int64_t all = layout.tensor > 1 ? (gathers + scatters) * one + reduced : 0;
  CHECK(traffic["tensor_activation_bytes"] == sent(all * positions, layout.tensor));
  int64_t sum = 0;
  for (const char* part : {"shard_gather_bytes", "shard_reduce_bytes", "replicate_reduce_bytes",
                           "tensor_activation_bytes", "tensor_gradient_bytes"}) {
    sum += traffic[part].get<int64_t>();
  }
  CHECK(traffic["total_bytes"] == sum);
  CHECK(traffic["not_counted"].empty());
}

void check_plan(const Model& model, const Layout& layout) {
  CAPTURE(model.words);
  CAPTURE(layout.words);
  const Json plan = plan_of(model, layout);
  const Elements e = elements_of(model, layout.tensor);
  check_memory(plan, e, layout.shard);
  check_activations(plan, model, e, layout.tensor);
  check_traffic(plan, e, layout);
  check_tensor_traffic(plan, model, layout);
  const Json& kept = plan["per_rank"]["activations"];
  const bool recomputes = std::string(layout.words).find("=full") != std::string::npos;
  int64_t needed = 14 * std::max(e.layer, e.table) + 4 * kStored * e.all / layout.shard;
  needed += recomputes ? kept["every_block_recomputed"]["bytes"].get<int64_t>() +
                             kept["largest_block"]["bytes"].get<int64_t>()
                       : kept["none_recomputed"]["bytes"].get<int64_t>();
  CHECK(plan["device"]["needed_bytes"] == needed);
  CHECK(plan["device"]["fits"] == (needed <= 80'000'000'000));
}

}  // namespace

TEST_CASE("a plan of 32 billion parameters on 8 GPUs is what the formulas say, to the byte") {
  CHECK(elements_of(kQwen32b, 1).all == 32'763'876'352);  // the number that its authors give
  const std::string full = " trainer.strategy.activation_checkpointing=full";
  check_plan(kQwen32b, {"trainer.strategy.name=fsdp", 1, 8, 1});
  check_plan(kQwen32b, {("trainer.strategy.name=fsdp" + full).c_str(), 1, 8, 1});
  check_plan(kQwen32b, {("trainer.strategy.name=model_parallel "
                         "trainer.strategy.tensor_parallel_size=4" +
                         full)
                            .c_str(),
                        1, 2, 4});
}

TEST_CASE("a plan of 70 billion parameters on 64 GPUs is what the formulas say, to the byte") {
  CHECK(elements_of(kLlama70b, 1).all == 70'553'706'496);
  const std::string full = " trainer.strategy.activation_checkpointing=full";
  const std::string fsdp = "trainer.strategy.name=fsdp" + full;
  const std::string tensor =
      "trainer.strategy.name=model_parallel trainer.strategy.tensor_parallel_size=8";
  check_plan(kLlama70b, {fsdp.c_str(), 1, 64, 1});
  check_plan(kLlama70b, {(fsdp + " trainer.strategy.replicate_size=2").c_str(), 2, 32, 1});
  check_plan(kLlama70b, {(fsdp + " trainer.strategy.replicate_size=8").c_str(), 8, 8, 1});
  check_plan(kLlama70b, {tensor.c_str(), 1, 8, 8});
  check_plan(kLlama70b, {(tensor + full).c_str(), 1, 8, 8});
}

TEST_CASE("offloaded gradients of replicas are on the device until the replicas are summed") {
  const std::string words =
      "trainer.strategy.name=fsdp trainer.strategy.offload=optimizer "
      "trainer.strategy.replicate_size=";
  const int64_t all = elements_of(kLlama70b, 1).all;
  for (const int64_t replicate : {1, 2, 8}) {
    const int64_t shard = 64 / replicate;
    const std::string one = words + std::to_string(replicate);
    const Json rank = plan_of(kLlama70b, {one.c_str(), replicate, shard, 1})["per_rank"];
    CHECK(rank["parameter_bytes"] == 0);
    CHECK(rank["optimizer_bytes"] == 0);
    CHECK(rank["gradient_bytes"] == 0);
    const int64_t sums = replicate > 1 ? kStored * all / shard : 0;
    CHECK(rank["gathered_bytes"] == 14 * elements_of(kLlama70b, 1).table + sums);
    // The shard, its gradient and moments, and its copy in bfloat16 for the gathers.
    CHECK(rank["host_bytes"] == (4 * kStored + kGathered) * all / shard);
  }
}

TEST_CASE("layouts of several machines have a replica on each machine, or on several") {
  const auto result = s2s::test::run_cli(
      "plan --json --layouts --gpu-memory 80GB --world-size 64 --sequence-length 4096 " +
      s2s::test::source_dir() + "/tests/cli/golden/plan_tinyllama.yaml " + kLlama70b.words +
      " trainer.precision=bf16-mixed trainer.strategy.name=fsdp"
      " trainer.strategy.param_dtype=bfloat16 trainer.strategy.reduce_dtype=float32");
  REQUIRE_MESSAGE(result.exit_code == 0, result.output);
  std::map<std::string, std::string> fits;
  const Json listed = Json::parse(result.output);
  for (const Json& layout : listed["layouts"]) {
    fits[layout["strategy"]] = layout["fit"];
  }
  const std::string full = " activation_checkpointing=full";
  CHECK(fits["name=fsdp zero_stage=3 replicate_size=8" + full] == "too large");
  CHECK(fits["name=fsdp zero_stage=3 replicate_size=4" + full] == "too large");
  CHECK(fits["name=fsdp zero_stage=3 replicate_size=2" + full] == "fits");
  CHECK(fits["name=fsdp zero_stage=3" + full] == "fits");
  CHECK(fits.count("name=fsdp zero_stage=3 replicate_size=16") == 0);  // half a machine
}
