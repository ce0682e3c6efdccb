#include "launch/slurm_script.h"

#include <map>
#include <set>

#include "launch/exported_environment.h"
#include "launch/shell_words.h"
#include "s2s/error.h"

namespace s2s::launch {
namespace {

using Words = std::vector<std::string>;

Error job_error(const std::string& problem, const std::string& next) {
  return {ExitCode::kUsage, "launch/job", problem + "\n  next:      " + next};
}

Error variable_error(const std::string& variable, const std::string& next) {
  return {ExitCode::kUsage, "launch/environment",
          "--env " + variable + ": must not be set\n  next:      " + next};
}

/// The strategy that the command names; "" when only its configuration does.
std::string strategy_of(const SlurmJob& job) {
  if (!job.strategy.empty()) return job.strategy;
  std::string out;
  for (const std::string& word : job.words) {
    for (const std::string key : {"trainer.strategy.name=", "trainer.strategy="}) {
      if (word.starts_with(key)) out = word.substr(key.size());
    }
  }
  return out;
}

void check_environment(const SlurmJob& job) {
  static const std::map<std::string, std::string> kNewNames = {
      {"NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_ASYNC_ERROR_HANDLING"},
      {"NCCL_BLOCKING_WAIT", "TORCH_NCCL_BLOCKING_WAIT"},
      {"NCCL_DESYNC_DEBUG", "TORCH_NCCL_DESYNC_DEBUG"}};
  const std::string strategy = strategy_of(job);
  for (const Words* words : {&job.environment, &job.container.environment}) {
    for (const std::string& one : *words) {
      const auto [name, value] = parse_assignment(one, "--env");
      const auto renamed = kNewNames.find(name);
      if (renamed != kNewNames.end()) {
        throw variable_error(one, "write its new name: " + renamed->second + "=" + value);
      }
      if (name == "CUDA_DEVICE_MAX_CONNECTIONS" && value == "1" && strategy == "fsdp") {
        throw variable_error(one,
                             "remove it: one connection serializes the gathers of fsdp with the "
                             "computation; it is for model_parallel");
      }
    }
  }
}

void check_job(const SlurmJob& job) {
  static const std::set<std::string> kLaunchers = {"launch",    "torchrun",   "srun",  "mpirun",
                                                   "deepspeed", "accelerate", "python"};
  const std::string& first = job.words.front();
  if (kLaunchers.contains(first)) {
    throw job_error("the command begins with '" + first + "', but --style starts the ranks",
                    "give the command of one rank, for example: -- train my.yaml");
  }
  if (job.gpus_of_node() != 0 && job.gpus_of_node() != job.num_ranks) {
    throw job_error(std::to_string(job.num_ranks) + " ranks and " +
                        std::to_string(job.gpus_of_node()) + " GPUs on each node: a rank has a GPU",
                    "give --gpus-per-node " + std::to_string(job.num_ranks) + ", or 0 for CPUs");
  }
  for (const std::string* value : {&job.name, &job.time, &job.partition, &job.account, &job.memory,
                                   &job.output, &job.written_by}) {
    if (value->find('\n') != std::string::npos) {
      throw job_error("a value has a line break", "write it on one line");
    }
  }
  check_environment(job);
}

std::string usage_of(const SlurmJob& job) {
  std::string out = "#!/bin/bash\n";
  if (!job.written_by.empty()) out += "# Written by: " + in_comment(job.written_by) + "\n#\n";
  return out +
         "#   sbatch FILE [SEED] [KEY=VALUE...]\n"
         "#\n"
         "# KEY=VALUE changes the configuration. SEED, a whole number, is the seed of the data of "
         "one\n"
         "# job of several in a row. Before the time limit all ranks save a checkpoint and exit "
         "with\n"
         "# code 8. The job then requeues itself, or the next one of the row goes on from there. "
         "With\n"
         "# any other exit code the job ends.\n";
}

std::string directives_of(const SlurmJob& job) {
  const bool is_task = job.style == "task";
  const int tasks = is_task ? job.num_ranks : 1;
  Words lines = {"--job-name=" + job.name, "--nodes=" + std::to_string(job.num_nodes),
                 "--ntasks-per-node=" + std::to_string(tasks)};
  if (job.gpus_of_node() > 0) {
    lines.push_back("--gpus-per-node=" + std::to_string(job.gpus_of_node()));
  }
  const int cpus = job.num_cpus * (is_task ? 1 : job.num_ranks);
  lines.push_back("--cpus-per-task=" + std::to_string(cpus));
  if (!job.memory.empty()) lines.push_back("--mem=" + job.memory);
  lines.push_back("--time=" + job.time);
  if (!job.partition.empty()) lines.push_back("--partition=" + job.partition);
  if (!job.account.empty()) lines.push_back("--account=" + job.account);
  lines.push_back("--signal=USR1@" + std::to_string(job.warning_s));
  lines.insert(lines.end(), {"--requeue", "--open-mode=append", "--output=" + job.output});
  for (const std::string& more : job.directives) {
    lines.push_back(more.starts_with("-") ? more : "--" + more);
  }
  std::string out;
  for (const std::string& line : lines) out += "#SBATCH " + line + "\n";
  return out;
}

std::string environment_of(const SlurmJob& job) {
  std::string out;
  for (const std::string& module : job.modules) out += "module load " + shell_word(module) + "\n";
  // sbatch passes on the environment of the shell that submits.
  out += "unset RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT\n";
  const std::string strategy = strategy_of(job);
  if (job.gpus_of_node() > 0 && strategy == "model_parallel") {
    out += "export CUDA_DEVICE_MAX_CONNECTIONS=1  # kernels in the order of their launches\n";
  } else if (job.gpus_of_node() > 0 && strategy == "fsdp") {
    out += "unset CUDA_DEVICE_MAX_CONNECTIONS  # gathers run beside the computation\n";
  }
  Words all = job.environment;
  for (const std::string& one : exported_for_container(job.container)) all.push_back(one);
  for (const std::string& one : all) {
    const size_t equals = one.find('=');
    out += "export " + one.substr(0, equals) + "=" + shell_word(one.substr(equals + 1)) + "\n";
  }
  // A token of this job, so that no other run of this network joins it.
  return out +
         "S2S_JOB_TOKEN=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \\n')\n"
         "export S2S_JOB_TOKEN\n";
}

/// What srun starts, up to the command of a rank.
std::string launcher_of(const SlurmJob& job) {
  std::string out = "srun";
  for (const std::string& word : srun_container_words(job.container)) out += " " + shell_word(word);
  // Launchers and container programs would die of the warning, which SLURM sends to every process.
  const Words container = container_words(job.container);
  if (job.style == "torchrun" || !container.empty()) {
    out += " \\\n  sh -c 'trap \"\" USR1; exec \"$@\"' sh";
  }
  if (!container.empty()) out += " \\\n  " + shell_words(container);
  if (job.style == "torchrun") {
    out += " \\\n  torchrun --no-python --nnodes \"$SLURM_JOB_NUM_NODES\" --nproc-per-node " +
           std::to_string(job.num_ranks) +
           " \\\n    --rdzv-backend c10d --rdzv-endpoint \"$head:$port\" --rdzv-id "
           "\"$SLURM_JOB_ID\"";
  }
  out += " \\\n  \"$S2S_RUN\"";
  if (job.style == "node") {
    out += " launch node --num-ranks " + std::to_string(job.num_ranks) + " --";
  }
  return out;
}

/// True when a value in single quotes has what a shell would expand in double quotes.
bool has_literals(const SlurmJob& job) {
  std::string all = shell_words(container_words(job.container));
  for (const Words* words : {&job.words, &job.environment, &job.container.environment}) {
    all += shell_words(*words);
  }
  return all.find_first_of("$`") != std::string::npos;
}

std::string meeting_of(const SlurmJob& job) {
  if (job.style != "torchrun") return "";
  return "head=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n"
         "port=$((12000 + SLURM_JOB_ID % 20000))\n"
         "# torchrun ends with 1 after any failure, and 8 counts as one: a file says it instead.\n"
         "export S2S_STOPPED_FILE=.s2s-stopped-$SLURM_JOB_ID\n"
         "rm -f \"$S2S_STOPPED_FILE\"\n";
}

}  // namespace

std::string slurm_script(const SlurmJob& job) {
  check_job(job);
  std::string out = usage_of(job) + directives_of(job);
  if (has_literals(job)) out += "# shellcheck disable=SC2016  # values are as they were written\n";
  out += "set -u\n";
  out += "S2S_RUN=${S2S_RUN:-" + shell_word(job.program) + "}  # a path that all nodes can read\n";
  out +=
      "seed=()\n"
      "case ${1:-} in\n"
      "  '' | *[!0-9]*) ;;\n"
      "  *) seed=(\"data.train_ds.seed=$1\" data.train_ds.allow_changed_data=true); shift ;;\n"
      "esac\n";
  out += environment_of(job) + meeting_of(job) + "\n";
  out += launcher_of(job) + " " + shell_words(job.words) + " \"$@\" \"${seed[@]}\"\n";
  out += "code=$?\n";
  if (job.style == "torchrun") {
    out += "if [ $code = 0 ] && [ -e \"$S2S_STOPPED_FILE\" ]; then code=8; fi\n";
  }
  return out +
         "if [ $code = 8 ] && [ ${#seed[@]} = 0 ]; then scontrol requeue \"$SLURM_JOB_ID\"; fi\n"
         "exit $code\n";
}

}  // namespace s2s::launch
