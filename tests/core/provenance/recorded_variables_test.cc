#include "provenance/recorded_variables.h"

#include <doctest/doctest.h>

#include <sstream>

#include "config/secrets.h"

using s2s::run::is_recorded_variable;
using s2s::run::recorded_environment;

TEST_CASE("the environment is recorded as far as programs of a training read it") {
  const auto found = recorded_environment({"CUDA_VISIBLE_DEVICES=0,1", "NCCL_DEBUG=INFO", "RANK=3",
                                           "RANKING=1", "HOME=/home/me", "SLURM_JOB_ID=7",
                                           "PATH=/bin", "OMP_NUM_THREADS=", "EMPTY"});
  CHECK(found.at("CUDA_VISIBLE_DEVICES") == "0,1");
  CHECK(found.at("RANK") == "3");
  CHECK(found.at("SLURM_JOB_ID") == "7");
  CHECK(found.at("PATH") == "/bin");
  CHECK(found.at("OMP_NUM_THREADS").empty());
  CHECK(found.size() == 6);
}

TEST_CASE("only whole names are recorded, never those that begin alike") {
  std::istringstream names(
      "SLURM_JWT TORCH_HUB_KEY OMP_PASS SLURM_SPANK_X_AUTH SLURM_EXPORT_ENV NCCL_X SLURM_ "
      "SLURM_JOB_ID_X WANDB_API_KEY MLFLOW_TRACKING_PASSWORD APPTAINER_DOCKER_PASSWORD RAY_X "
      "KUBERNETES_X PMIX_X HF_TOKEN S2S_JOB_TOKEN LC_X PWD HOME rank");
  for (std::string name; names >> name;) {
    CHECK_MESSAGE(!is_recorded_variable(name), name);
    CHECK_MESSAGE(recorded_environment({name + "=0123456789"}).empty(), name);
  }
  for (const char* name : {"SLURM_NNODES", "WORLD_SIZE", "NCCL_IB_HCA", "MALLOC_ARENA_MAX"}) {
    CHECK_MESSAGE(is_recorded_variable(name), name);
    CHECK_MESSAGE(!s2s::is_secret_name(name), name);
  }
}

TEST_CASE("secrets of the environment are not recorded, wherever they are") {
  const auto found = recorded_environment(
      {"WANDB_API_KEY=0123456789", "HF_TOKEN=hf_abcdef", "WANDB_NOTES=run --key 0123456789",
       "RAY_ADDRESS=https://hf_abcdef@host", "MLFLOW_TRACKING_URI=http://me:word@host/x",
       "WANDB_BASE_URL=http://host/a@b", "NCCL_IB_TC=12", "PWD=/somewhere/here",
       "PYTHONPATH=/somewhere/here/lib"});
  CHECK(found.at("WANDB_NOTES") == "***");
  CHECK(found.at("RAY_ADDRESS") == "***");
  CHECK(found.at("MLFLOW_TRACKING_URI") == "***");
  CHECK(found.at("WANDB_BASE_URL") == "http://host/a@b");
  CHECK(found.at("NCCL_IB_TC") == "12");
  CHECK(found.at("PYTHONPATH") == "/somewhere/here/lib");
  CHECK(found.size() == 6);
}
