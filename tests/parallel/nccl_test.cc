// The communicator `nccl`: with one GPU a group of one, with two or more one process for each.

#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "parallel/communicator_contract.h"
#include "parallel/joined_process.h"
#include "parallel/process_ranks.h"

namespace {

/// GPUs of this machine. The CUDA half of LibTorch is opened for it.
int num_gpus() {
  if (::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) return 0;
  return at::detail::getCUDAHooks().getNumGPUs();
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
  s2s::BuildContext context;
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
