#pragma once
// Files that configure DeepSpeed or FSDP, and the script that starts a run: what the generators of
// LLM recipes (distributed_setup.py) write.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace s2s::launch {

struct DeepSpeedFile {
  int stage = 2;
  bool offloads_optimizer = false, offloads_params = false;
  bool is_bf16 = false, is_fp16 = false;
  int accumulation = 0;  // micro-batches of a step; 0: "auto"
  double clipping = -1;  // of the gradient norm; below 0: "auto"
};

/// DeepSpeed's JSON. What it does not say is "auto".
nlohmann::ordered_json deepspeed_file(const DeepSpeedFile& file);

/// The values with which deepspeed_file wrote `file`, if it did.
DeepSpeedFile deepspeed_values(const nlohmann::ordered_json& file);

struct FsdpFile {
  std::string sharding = "FULL_SHARD";
  std::string precision = "BFLOAT16";
  bool offloads_params = false, recomputes = false;
};

/// The settings of FSDP as accelerate names them.
nlohmann::ordered_json fsdp_file(const FsdpFile& file);

/// The values with which fsdp_file wrote `file`, if it did.
FsdpFile fsdp_values(const nlohmann::ordered_json& file);

struct LauncherScript {
  int num_nodes = 1, num_ranks = 1;  // ranks: on each node
  std::string master_addr = "localhost";
  int master_port = 29500;
  int node = 0;
  std::string program = "s2s-run";
  std::vector<std::string> words;  // the command of each rank
  std::string written_by;          // the command that wrote the script
};

/// A script for one machine of the run. The variable NODE_RANK overrides the number of the machine,
/// and its arguments KEY=VALUE change the configuration.
std::string launcher_script(const LauncherScript& script);

}  // namespace s2s::launch
