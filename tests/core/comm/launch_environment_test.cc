#include "comm/launch_environment.h"

#include <doctest/doctest.h>

#include <map>

#include "common/contains.h"
#include "s2s/error.h"

namespace {

using Variables = std::map<std::string, std::string>;

s2s::LaunchEnvironment read(const Variables& variables) {
  return s2s::read_launch_environment([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string error_of(const Variables& variables) {
  try {
    read(variables);
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "comm/environment");
    CHECK(error.exit_code() == s2s::ExitCode::kCommunication);
    return error.message();
  }
  return "no error";
}

const Variables kTorchrun = {{"RANK", "3"},
                             {"WORLD_SIZE", "4"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "node7"},
                             {"MASTER_PORT", "29511"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                             {"TORCHELASTIC_RESTART_COUNT", "2"}};

const Variables kSlurm = {{"SLURM_PROCID", "2"},
                          {"SLURM_LOCALID", "0"},
                          {"SLURM_NODEID", "1"},
                          {"SLURM_STEP_NUM_TASKS", "3"},
                          {"SLURM_STEP_TASKS_PER_NODE", "2,1"},
                          {"SLURM_STEP_NODELIST", "gpu[07-08]"},
                          {"SLURM_JOB_ID", "4711"},
                          {"SLURM_STEP_ID", "1"}};

}  // namespace

TEST_CASE("a process that nothing launched is rank 0 of 1") {
  const s2s::LaunchEnvironment launch = read({});
  CHECK(launch.launcher == s2s::Launcher::kNone);
  CHECK(launch.rank == 0);
  CHECK(launch.size == 1);
}

TEST_CASE("torchrun's variables are read") {
  const s2s::LaunchEnvironment launch = read(kTorchrun);
  CHECK(launch.launcher == s2s::Launcher::kTorchrun);
  CHECK(launch.rank == 3);
  CHECK(launch.size == 4);
  CHECK(launch.local_rank == 1);
  CHECK(launch.local_size == 2);
  CHECK(launch.address() == "node7:29511");
  CHECK(launch.launcher_has_store);
  CHECK(launch.attempt == 0);  // of this agent only
  Variables local = kTorchrun;
  local["S2S_LAUNCH_LOCAL"] = "1";
  CHECK(read(local).attempt == 2);
}

TEST_CASE("Open MPI's variables are read; runs of one machine meet at ports of their own") {
  Variables variables = {{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                         {"PMIX_NAMESPACE", "1336803329"}};
  const s2s::LaunchEnvironment launch = read(variables);
  CHECK(launch.launcher == s2s::Launcher::kMpi);
  CHECK(launch.rank == 1);
  CHECK(launch.size == 2);
  CHECK(launch.host == "127.0.0.1");
  CHECK(launch.port >= 12000);
  CHECK(launch.port < 32000);
  variables["PMIX_NAMESPACE"] = "1336803330";
  CHECK(read(variables).port != launch.port);
  variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  CHECK(s2s::test::contains(error_of(variables), "MASTER_ADDR"));
  variables["MASTER_ADDR"] = "node1";
  CHECK(read(variables).host == "node1");
}

TEST_CASE("srun's variables are read; the first node of the step is where ranks meet") {
  const s2s::LaunchEnvironment launch = read(kSlurm);
  CHECK(launch.launcher == s2s::Launcher::kSlurm);
  CHECK(launch.rank == 2);
  CHECK(launch.size == 3);
  CHECK(launch.local_size == 1);
  CHECK(launch.host == "gpu07");
  Variables other_step = kSlurm;
  other_step["SLURM_STEP_ID"] = "2";
  CHECK(read(other_step).port != launch.port);
}

TEST_CASE("a SLURM batch script without srun is one process") {
  Variables batch = kSlurm;
  batch.erase("SLURM_STEP_NUM_TASKS");
  batch["SLURM_NTASKS"] = "3";
  CHECK(read(batch).launcher == s2s::Launcher::kNone);
}

TEST_CASE("ranks of a run share a token: the one that is set, or the job's name") {
  CHECK(read(kSlurm).token == kSlurm.at("SLURM_JOB_ID"));
  CHECK(read(kTorchrun).token.empty());
  Variables variables = kTorchrun;
  variables["TORCHELASTIC_RUN_ID"] = "run7";
  CHECK(read(variables).token == "run7");
  variables["S2S_JOB_TOKEN"] = "secret";
  CHECK(read(variables).token == "secret");
  variables = kSlurm;
  variables["SLURM_HET_SIZE"] = "2";  // each part has a job's number of its own
  CHECK(read(variables).token.empty());
  variables["S2S_JOB_TOKEN"] = std::string(2000, 'x');
  CHECK(s2s::test::contains(error_of(variables), "S2S_JOB_TOKEN has 2000 characters"));
}

TEST_CASE("the innermost launcher counts") {
  Variables both = kSlurm;
  both.insert(kTorchrun.begin(), kTorchrun.end());
  CHECK(read(both).launcher == s2s::Launcher::kTorchrun);
}

TEST_CASE("the reason names the variables that decided, and the launchers that do not count") {
  CHECK(read({}).reason == "no launcher's variables are set");
  CHECK(read(kTorchrun).reason == "RANK and LOCAL_RANK are set");
  Variables all = kSlurm;
  all.insert(kTorchrun.begin(), kTorchrun.end());
  all.insert({{"OMPI_COMM_WORLD_RANK", "0"}, {"PMI_RANK", "0"}});
  CHECK(read(all).reason == "RANK and LOCAL_RANK are set; not used: the variables of mpirun, srun");
}

TEST_CASE("a pod of Kubeflow with one process is a rank; one with several needs a launcher") {
  Variables pod = {{"PET_NNODES", "2"},
                   {"PET_NODE_RANK", "1"},
                   {"PET_NPROC_PER_NODE", "1"},
                   {"PET_MASTER_ADDR", "run-node-0-0.run"},
                   {"PET_MASTER_PORT", "29400"}};
  const s2s::LaunchEnvironment launch = read(pod);
  CHECK(launch.launcher == s2s::Launcher::kPods);
  CHECK(launch.rank == 1);
  CHECK(launch.size == 2);
  CHECK(launch.address() == "run-node-0-0.run:29400");
  // A PyTorchJob sets these for a pod, too.
  pod.insert({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  CHECK(read(pod).launcher == s2s::Launcher::kPods);
  pod["PET_NPROC_PER_NODE"] = "8";
  CHECK(s2s::test::contains(error_of(pod), "PET_NPROC_PER_NODE=8: this pod has several ranks"));
  CHECK(s2s::test::contains(error_of(pod), "s2s-run launch node -- train"));
  // What a launcher in the pod sets counts first.
  pod.insert(kTorchrun.begin(), kTorchrun.end());
  pod["RANK"] = "3", pod["WORLD_SIZE"] = "4";
  CHECK(read(pod).launcher == s2s::Launcher::kTorchrun);
}

TEST_CASE("a pod of an indexed Job is a rank when the manifest says where ranks meet") {
  Variables pod = {{"JOB_COMPLETION_INDEX", "2"}};
  CHECK(read(pod).launcher ==
        s2s::Launcher::kNone);  // pods that have nothing to do with each other
  pod["MASTER_ADDR"] = "run-0.run";
  CHECK(s2s::test::contains(error_of(pod), "did not set WORLD_SIZE"));
  pod["WORLD_SIZE"] = "4";
  CHECK(s2s::test::contains(error_of(pod), "did not set MASTER_PORT"));
  pod["MASTER_PORT"] = "29500";
  const s2s::LaunchEnvironment launch = read(pod);
  CHECK(launch.launcher == s2s::Launcher::kIndexedJob);
  CHECK(launch.rank == 2);
  CHECK(launch.size == 4);
}

TEST_CASE("variables that are incomplete or contradict each other are named") {
  Variables variables = kTorchrun;
  variables["RANK"] = "4";
  CHECK(s2s::test::contains(error_of(variables), "RANK=4: expected a whole number from 0 to 3"));
  variables["RANK"] = "one";
  CHECK(s2s::test::contains(error_of(variables), "RANK=one"));
  variables = kTorchrun;
  variables.erase("WORLD_SIZE");
  CHECK(s2s::test::contains(error_of(variables), "did not set WORLD_SIZE"));
  variables = kTorchrun;
  variables.erase("MASTER_PORT");
  CHECK(s2s::test::contains(error_of(variables), "did not set MASTER_PORT"));
}

TEST_CASE("the first machine of SLURM's lists is found") {
  CHECK(s2s::first_host("login") == "login");
  CHECK(s2s::first_host("a,b") == "a");
  CHECK(s2s::first_host("gpu[07-09,12],login") == "gpu07");
  CHECK(s2s::first_host("rack[1,3]-node,x") == "rack1-node");
}
