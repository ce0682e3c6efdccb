#include "comm/launch_node.h"

#include <doctest/doctest.h>

#include <map>

#include "common/contains.h"

namespace {

using Variables = std::map<std::string, std::string>;

s2s::NodeEnvironment read_node(const Variables& variables, const s2s::NodeOptions& options = {}) {
  return s2s::read_node_environment(options, [&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string node_error(const Variables& variables, const s2s::NodeOptions& options = {}) {
  try {
    read_node(variables, options);
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "comm/environment");
    return error.message();
  }
  return "no error";
}

const Variables kPod = {{"PET_NNODES", "2"},
                        {"PET_NODE_RANK", "1"},
                        {"PET_NPROC_PER_NODE", "8"},
                        {"PET_MASTER_ADDR", "run-0"},
                        {"PET_MASTER_PORT", "29400"}};
const Variables kStep = {{"SLURM_NODEID", "1"},         {"SLURM_STEP_NUM_NODES", "2"},
                         {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_STEP_NODELIST", "gpu[7-8]"},
                         {"SLURM_JOB_ID", "4711"},      {"SLURM_STEP_ID", "0"}};

}  // namespace

TEST_CASE("a launcher that nothing started has one node") {
  const s2s::NodeEnvironment place = read_node({});
  CHECK(place.num_nodes == 1);
  CHECK(place.node == 0);
  CHECK_FALSE(place.ranks_per_node);
}

TEST_CASE("the place of a node is read from options, Kubeflow, SLURM, Open MPI or an indexed Job") {
  s2s::NodeEnvironment place = read_node(kPod);
  CHECK(place.source == "PET_NODE_RANK");
  CHECK(place.node == 1);
  CHECK(place.num_nodes == 2);
  CHECK(place.ranks_per_node == 8);
  CHECK(place.host == "run-0");
  CHECK(place.port == 29400);

  place = read_node(kStep);
  CHECK(place.source == "SLURM_NODEID");
  CHECK(place.node == 1);
  CHECK(place.host == "gpu7");
  CHECK(place.port >= 12000);

  place = read_node({{"JOB_COMPLETION_INDEX", "3"}, {"NUM_NODES", "4"}, {"MASTER_PORT", "29500"}});
  CHECK(place.source == "JOB_COMPLETION_INDEX");
  CHECK(place.node == 3);

  place = read_node({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  CHECK(place.source == "OMPI_COMM_WORLD_RANK");

  // PyTorchJob: the rank of a pod.
  place = read_node(
      {{"RANK", "1"}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "m"}, {"MASTER_PORT", "23456"}});
  CHECK(place.source == "RANK");
  CHECK(place.num_nodes == 3);
  CHECK(place.host == "m");

  s2s::NodeOptions options;
  options.node = 0;
  options.num_nodes = 2;
  options.host = "head";
  options.port = 29501;
  place = read_node(kPod, options);
  CHECK(place.source == "--node-rank");
  CHECK(place.node == 0);
  CHECK(place.host == "head");
  CHECK(place.port == 29501);
}

TEST_CASE("a place that cannot be is refused with what to correct") {
  using s2s::test::contains;
  Variables elastic = kPod;
  elastic["PET_NNODES"] = "1:4";
  CHECK(contains(node_error(elastic), "needs torchrun's rendezvous"));
  Variables tasks = kStep;
  tasks["SLURM_STEP_NUM_TASKS"] = "16";
  CHECK(contains(node_error(tasks), "--ntasks-per-node=1"));
  s2s::NodeOptions options;
  options.num_nodes = 2;
  CHECK(contains(node_error({}, options), "2 nodes, and no port where they meet"));
  options.node = 2;
  options.port = 29500;
  CHECK(contains(node_error({}, options), "--node-rank 2: expected a number from 0 to 1"));
}
