// Layouts whose ranks have the test device, against one process on the CPU.
#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "device/staged.h"
#include "device/test_device.h"
#include "parallel/communicator_contract.h"
#include "parallel/equality.h"
#include "parallel/joined_process.h"
#include "parallel/process_ranks.h"
#include "parallel/thread_ranks.h"
#include "parallel/trained_models.h"
#include "s2s/nn/decoder.h"

using namespace s2s;
using namespace s2s::test;

namespace {

/// In flat memory without biases between them, the layers of an attention are one product.
void check_joined(Block& model) {
  model.for_each_block([](const std::string& path, Block& block) {
    auto* const attention = dynamic_cast<GroupedQueryAttention*>(&block);
    if (attention == nullptr || attention->q_proj.bias.defined()) return;
    CAPTURE(path);
    const Linear &q = attention->q_proj, &k = attention->k_proj;
    CHECK((q.hooks() == nullptr || q.hooks()->only_calls(q)));
    if (!k.weight.is_alias_of(q.weight)) return;  // the next bucket of ddp
    CHECK(k.weight.storage_offset() == q.weight.storage_offset() + q.weight.numel());
  });
}

/// The same model with its memory on the device.
TrainedModel on_device(TrainedModel trained) {
  const auto make = trained.make;
  trained.make = [make](const Registries& registries) {
    auto model = make(registries);
    model->to(test_device(), at::kFloat);
    return model;
  };
  trained.attached = [](Communicator*, Model& model, const ShardPlan&) {
    const bool is_flat = model.hooks() != nullptr;
    if (is_flat) check_joined(model);
  };
  return trained;
}

void check_layout(const Registries& registries, Reference& reference, const TrainedModel& trained,
                  const RunLayout& layout, Communicator* world) {
  CAPTURE(layout.name);
  LayoutResult result;
  run_layout(registries, on_device(trained), layout, world, result, /*only_first=*/false);
  CHECK(largest_difference(reference.of(layout.global_batches()), result) < 1e-4);
}

/// Of as many ranks as there are.
void check_layouts(Communicator& world, const std::vector<RunLayout>& layouts) {
  BuiltPlugins plugins;
  load(plugins);
  const TrainedModel trained = families()[1];
  Reference reference(plugins.registries(), trained);
  for (const RunLayout& layout : layouts) {
    if (layout.num_ranks != world.size()) continue;
    check_layout(plugins.registries(), reference, trained, layout, &world);
  }
}

/// All ranks of the run, with the device.
std::unique_ptr<Communicator> staged_world(JoinedProcess& process) {
  test_device();
  std::vector<int64_t> ranks;
  for (int64_t rank = 0; rank < process.world().size(); ++rank) ranks.push_back(rank);
  return std::make_unique<StagedCommunicator>(process.world().subgroup(ranks, "staged"),
                                              at::kPrivateUse1);
}

/// Units are gathered and reduced by a group of one.
std::vector<RunLayout> layouts_of_one() {
  const std::string fsdp = R"("name": "fsdp")";
  return {layout("single", R"("name": "single")", 1, 1),
          layout("ddp 1", R"("name": "ddp")", 1, 1),
          layout("fsdp 1", fsdp, 1, 1, 2),
          layout("fsdp 1, recomputed", fsdp + R"(, "activation_checkpointing": "full")", 1, 1),
          layout("fsdp 1, offloaded", fsdp + R"(, "offload": "params")", 1, 1),
          layout("fsdp 1, optimizer offloaded, accumulating", fsdp + R"(, "offload": "optimizer")",
                 1, 1, 3),
          layout("model parallel 1", R"("name": "model_parallel")", 1, 1)};
}

}  // namespace

TEST_CASE("one process on the device equals one on the CPU, in every family and layout") {
  BuiltPlugins plugins;
  load(plugins);
  for (const TrainedModel& trained : families()) {
    CAPTURE(trained.name);
    Reference reference(plugins.registries(), trained);
    const bool is_first = trained.name == "llama";
    for (const RunLayout& layout : layouts_of_one()) {
      if (!is_first && layout.name != "fsdp 1, recomputed") continue;
      check_layout(plugins.registries(), reference, trained, layout, nullptr);
    }
  }
}

TEST_CASE("ranks that are threads are told that ranks with devices are processes") {
  const at::Tensor tensor = at::ones({4}, test_device());
  const auto errors = run_thread_ranks(
      2, [&](Communicator& world) { world.all_reduce(tensor, Reduction::kSum, "loss").wait(); });
  for (const std::string& error : errors) {
    CHECK(error.find("[comm/device]") == 0);
    CHECK(error.find("and got one on " + test_device().str()) != std::string::npos);
    CHECK(error.find("start one process for each rank") != std::string::npos);
  }
}

TEST_CASE("one rank of the staged contract" * doctest::skip()) {
  JoinedProcess process("gloo");
  check_communicator(*staged_world(process));
}

TEST_CASE("ranks that exchange memory of the device keep the contract of communicators") {
  CHECK(run_process_ranks(2, "one rank of the staged contract") == std::vector<int>(2));
}

TEST_CASE("one rank of the layouts on the device" * doctest::skip()) {
  JoinedProcess process("gloo");
  const std::unique_ptr<Communicator> world = staged_world(process);
  check_layouts(*world, data_layouts());
  check_layouts(*world, tensor_layouts());
}

TEST_CASE("one rank of the messages of hosts" * doctest::skip()) {
  JoinedProcess process("gloo");
  const std::unique_ptr<Communicator> world = staged_world(process);
  BuiltPlugins plugins;
  load(plugins);
  Config node = Config::map();
  node["name"] = Config::scalar("ddp");
  ProcessContext context;
  context.world = world.get();
  const auto strategy = plugins.registries().create<ParallelStrategy>(node, context);
  const at::Tensor x = at::full({3}, 2.0, test_device());
  const at::Tensor late = at::empty({3}, at::TensorOptions().pinned_memory(true));
  late.copy_(x, /*non_blocking=*/true);  // stands for a step that the device computes
  CHECK(strategy->sum_over_data({1.0, 0.5}) == std::vector<double>{2, 1});
  CHECK(late.isnan().all().item<bool>());
  const at::Tensor sums =
      strategy->reduce_over_data(at::ones({2}, at::TensorOptions(at::kDouble).device(x.device())));
  CHECK_FALSE(sums.is_cpu());
  CHECK(sums.cpu().equal(at::full({2}, 2.0, at::kDouble)));
}

TEST_CASE("hosts exchange numbers while their devices compute") {
  CHECK(run_process_ranks(2, "one rank of the messages of hosts") == std::vector<int>(2));
}

TEST_CASE("layouts of two ranks with devices equal one process on the CPU") {
  CHECK(run_process_ranks(2, "one rank of the layouts on the device") == std::vector<int>(2));
}

TEST_CASE("layouts of four ranks with devices equal one process on the CPU") {
  CHECK(run_process_ranks(4, "one rank of the layouts on the device") == std::vector<int>(4));
}
