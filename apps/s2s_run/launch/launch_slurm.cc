// s2s-run launch slurm: writes the batch script of a run, and submits it.

#include <cstdio>

#include "launch/exported_environment.h"
#include "launch/sbatch_jobs.h"
#include "launch/shell_words.h"
#include "launch/slurm_script.h"
#include "s2s/error.h"
#include "s2s_run/launch/launch_commands.h"

namespace s2s::run {
namespace {

struct SlurmArguments {
  launch::SlurmJob job;
  std::string file;
  bool is_dry_run = false, submits = false, overwrites = false;
  std::optional<int64_t> num_jobs, num_ranks;
  ConfigWords config;
};

Error words_error(const std::string& problem) {
  return {ExitCode::kUsage, "usage/arguments",
          "s2s-run launch slurm: " + problem + "\n  see:       s2s-run launch slurm --help"};
}

/// The command of a rank, or --config in its place; the ranks of a node, or its GPUs.
void complete_job(SlurmArguments& arguments) {
  launch::SlurmJob& job = arguments.job;
  const bool has_config = !arguments.config.config.empty();
  if (has_config != job.words.empty()) {
    throw words_error("give the command of each rank after `--`, or --config FILE");
  }
  const bool uses_engine = arguments.config.uses_deepspeed || arguments.config.uses_fsdp;
  if (has_config) {
    if (uses_engine && job.strategy.empty()) job.strategy = "fsdp";
    job.words = words_of_config("slurm", arguments.config);
  } else if (uses_engine) {
    throw words_error("--use_deepspeed and --use_fsdp go with --config FILE");
  }
  if (arguments.num_ranks) {
    job.num_ranks = static_cast<int>(*arguments.num_ranks);
  } else if (job.num_gpus > 0) {
    job.num_ranks = job.num_gpus;
  }
}

int launch_slurm(SlurmArguments arguments, const Invocation& invocation) {
  launch::SlurmJob& job = arguments.job;
  complete_job(arguments);
  job.written_by = own_command_line();
  add_plugin_paths(job.words, invocation);
  const std::string text = launch::slurm_script(job);
  if (arguments.is_dry_run) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  const std::string file = arguments.file.empty() ? job.name + ".sbatch" : arguments.file;
  write_launch_file(file, text, arguments.overwrites);
  if (!arguments.submits) {
    std::printf("wrote %s; submit it: sbatch %s\n", file.c_str(), launch::shell_word(file).c_str());
    return 0;
  }
  launch::submit_jobs(file, static_cast<int>(arguments.num_jobs.value_or(1)),
                      arguments.num_jobs.has_value());
  return 0;
}

void add_size(const Command& command, SlurmArguments& arguments) {
  launch::SlurmJob& job = arguments.job;
  command
      .option("--style", job.style,
              "task: srun starts each rank; torchrun: torchrun on each node; node: 's2s-run launch "
              "node' on each node")
      .one_of({"task", "torchrun", "node"})
      .shows_default();
  command.option("--nodes,--num-nodes,--num_nodes", job.num_nodes, "number of nodes")
      .between(1, 100000)
      .shows_default();
  command
      .option("-n,--num-ranks", arguments.num_ranks,
              "number of ranks on each node; as many as GPUs by default, or 8")
      .between(1, 1024);
  command
      .option("--gpus-per-node,--num_gpus_per_node", job.num_gpus,
              "0 for CPUs; otherwise one for each rank, which is the default")
      .between(0, 1024);
  command.option("--cpus-per-rank", job.num_cpus, "CPU cores of each rank")
      .between(1, 1024)
      .shows_default();
  command.option("--memory,--mem", job.memory, "memory of each node, for example 500G");
  command.option("--time,--time-limit,--time_limit", job.time, "time limit, as sbatch reads it")
      .shows_default();
}

void add_job(const Command& command, launch::SlurmJob& job) {
  command.option("--job-name", job.name, "name of the job and of the script").shows_default();
  command.option("--partition", job.partition, "partition of the cluster");
  command.option("--account", job.account, "account that is charged");
  command.option("--log", job.output, "file for the output of the job").shows_default();
  command
      .option("--warning", job.warning_s,
              "seconds between the request to stop with a checkpoint and the time limit")
      .between(1, 65535)
      .shows_default();
  command.option("--sbatch", job.directives, "another option of sbatch; may be repeated")
      .takes_one();
  command.option("--module", job.modules, "module to load; may be repeated").takes_one();
  command.option("--env", job.environment, "NAME=VALUE for the job's environment; may be repeated")
      .takes_one();
  command
      .option("--strategy", job.strategy,
              "strategy for which the environment is set, where the command does not name it")
      .one_of({"single", "ddp", "fsdp", "model_parallel"});
  command.option("--program", job.program, "path of s2s-run on the nodes or in the container")
      .shows_default();
}

void add_container(const Command& command, launch::Container& container) {
  command.option("--container", container.image, "image in which the ranks run");
  command.option("--container-kind", container.kind, "what runs the container")
      .one_of({"apptainer", "singularity", "pyxis", "enroot"})
      .shows_default();
  command.option("--bind", container.binds, "HOST_FOLDER:FOLDER in the container; may be repeated")
      .takes_one();
  command
      .option("--container-env", container.environment,
              "NAME=VALUE in the container; may be repeated")
      .takes_one();
  command.option("--home", container.home, "HOST_FOLDER:FOLDER of the home in the container");
  command.option("--pwd", container.folder, "folder in the container where the command starts");
}

}  // namespace

void setup_launch_slurm(const Command& group) {
  const Command command = group.command("slurm", "write the batch script of a run, and submit it");
  SlurmArguments& arguments = command.runs(launch_slurm);
  add_size(command, arguments);
  add_job(command, arguments.job);
  add_container(command, arguments.job.container);
  command.option("-o,--output", arguments.file, "file of the script; JOB_NAME.sbatch by default");
  const Argument dry =
      command.flag("--dry-run", arguments.is_dry_run, "print the script and write nothing");
  const Argument submit = command.flag("--submit", arguments.submits, "submit the script");
  submit.excludes(dry);
  command
      .option("--jobs", arguments.num_jobs,
              "submit this many jobs, one after the other, each with a random data.train_ds.seed")
      .between(1, 1000)
      .needs(submit);
  command.force(arguments.overwrites);
  add_config_words(command, arguments.config);
  command.option("command", arguments.job.words, kRankCommandDoc);
}

}  // namespace s2s::run
