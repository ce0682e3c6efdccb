// The communicator `nccl`: with one GPU a group of one, with two or more one process for each.

#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <doctest/doctest.h>

#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "parallel/communicator_contract.h"
#include "parallel/equality.h"
#include "parallel/gpus.h"
#include "parallel/joined_process.h"
#include "parallel/process_ranks.h"
#include "parallel/trained_models.h"

using namespace s2s;
using namespace s2s::test;

namespace {

/// The same model with its memory on the GPU.
TrainedModel on_gpu(TrainedModel trained) {
  const auto make = trained.make;
  trained.make = [make](const Registries& registries) {
    auto model = make(registries);
    model->to(at::Device(at::kCUDA, at::detail::getCUDAHooks().getCurrentDevice()), at::kFloat);
    return model;
  };
  return trained;
}

/// Layouts of as many ranks as there are, against one process on the CPU.
void check_layouts(Communicator& world, const std::vector<RunLayout>& layouts) {
  BuiltPlugins plugins;
  load(plugins);
  const TrainedModel trained = families()[1];
  Reference reference(plugins.registries(), trained);
  for (const RunLayout& layout : layouts) {
    if (layout.num_ranks != world.size()) continue;
    CAPTURE(layout.name);
    LayoutResult result;
    run_layout(plugins.registries(), on_gpu(trained), layout, &world, result, false);
    CHECK(largest_difference(reference.of(layout.global_batches()), result) < 1e-4);
  }
}

/// Layouts of two ranks, cut down to one: units are gathered and reduced by a group of one.
std::vector<RunLayout> layouts_of_one() {
  const std::string fsdp = R"("name": "fsdp")";
  return {layout("ddp 1", R"("name": "ddp")", 1, 1), layout("fsdp 1", fsdp, 1, 1, 2),
          layout("fsdp 1, recomputed", fsdp + R"(, "activation_checkpointing": "full")", 1, 1),
          layout("fsdp 1, offloaded", fsdp + R"(, "offload": "params")", 1, 1),
          layout("fsdp 1, optimizer offloaded, accumulating", fsdp + R"(, "offload": "optimizer")",
                 1, 1, 3)};
}

}  // namespace

TEST_CASE("one rank of nccl's contract" * doctest::skip()) {
  s2s::test::JoinedProcess process("nccl");
  s2s::test::check_communicator(process.world());
}

TEST_CASE("nccl keeps the contract of communicators, alone") {
  if (num_gpus() == 0) {
    MESSAGE("skipped: no GPU here");
    return;
  }
  const auto store = c10::make_intrusive<c10d::HashStore>();
  s2s::ProcessPlace place;
  place.store = store.get();  // with a store it is NCCL's own group of one
  s2s::ProcessContext context;
  context.process = &place;
  s2s::test::BuiltPlugins plugins;
  s2s::Config node = s2s::Config::map();
  node["name"] = s2s::Config::scalar("nccl");
  s2s::test::check_communicator(*plugins.create<s2s::Communicator>(node, context));
}

TEST_CASE("nccl keeps the contract of communicators, between processes") {
  if (num_gpus() < 2) {
    MESSAGE("skipped: groups of several ranks need two GPUs");
    return;
  }
  CHECK(s2s::test::run_process_ranks(2, "one rank of nccl's contract") == std::vector<int>(2));
}

TEST_CASE("one rank of the layouts on GPUs" * doctest::skip()) {
  JoinedProcess process("nccl");
  check_layouts(process.world(), data_layouts());
  check_layouts(process.world(), tensor_layouts());
}

TEST_CASE("layouts on one GPU equal one process on the CPU") {
  if (num_gpus() == 0) {
    MESSAGE("skipped: no GPU here");
    return;
  }
  const auto store = c10::make_intrusive<c10d::HashStore>();
  ProcessPlace place;
  place.store = store.get();
  ProcessContext context;
  context.process = &place;
  BuiltPlugins plugins;
  Config node = Config::map();
  node["name"] = Config::scalar("nccl");
  check_layouts(*plugins.create<Communicator>(node, context), layouts_of_one());
}

TEST_CASE("layouts on two GPUs equal one process on the CPU") {
  if (num_gpus() < 2) {
    MESSAGE("skipped: layouts of two ranks need two GPUs");
    return;
  }
  CHECK(run_process_ranks(2, "one rank of the layouts on GPUs") == std::vector<int>(2));
}
