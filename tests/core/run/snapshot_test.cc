#include "run/snapshot.h"

#include <doctest/doctest.h>

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

TEST_CASE("secrets of the environment are not recorded, wherever they stand") {
  const auto found = recorded_environment(
      {"WANDB_API_KEY=0123456789", "HF_TOKEN=hf_abcdef", "NCCL_COMMAND=run --key 0123456789",
       "NCCL_HUB=https://hf_abcdef@host", "MLFLOW_TRACKING_URI=http://me:word@host/x",
       "NCCL_MAIL=http://host/a@b", "NCCL_PIN=12"});
  CHECK(found.at("WANDB_API_KEY") == "***");
  CHECK(found.at("NCCL_COMMAND") == "***");
  CHECK(found.at("NCCL_HUB") == "***");
  CHECK(found.at("MLFLOW_TRACKING_URI") == "***");
  CHECK(found.at("NCCL_MAIL") == "http://host/a@b");
  CHECK(found.at("NCCL_PIN") == "12");
  CHECK(!found.contains("HF_TOKEN"));
}
