// s2s-run launch kubernetes: prints the manifest of a run.

#include <cstdio>
#include <iostream>

#include "launch/kubernetes_job.h"
#include "s2s_run/launch/launch_commands.h"

namespace s2s::run {
namespace {

int launch_kubernetes(launch::KubernetesJob job, const Invocation& invocation) {
  require_rank_command("kubernetes", job.words);
  add_plugin_paths(job.words, invocation);
  const auto objects = launch::kubernetes_objects(job);
  if (invocation.json) {
    std::cout << nlohmann::ordered_json(objects).dump(2) << '\n';
  } else {
    std::cout << launch::yaml_documents(objects);
  }
  return 0;
}

void add_pods(const Command& command, launch::KubernetesJob& job) {
  command.option("--image", job.image, "image of the containers, with s2s-run").required();
  command.option("--nodes,--num-nodes", job.num_nodes, "number of pods")
      .between(1, 100000)
      .shows_default();
  command.option("-n,--num-ranks", job.num_ranks, "number of ranks in each pod")
      .between(1, 1024)
      .shows_default();
  command
      .option("--gpus-per-node", job.num_gpus,
              "GPUs of each pod; 0 for CPUs; one for each rank by default")
      .between(0, 1024);
  command.option("--cpus", job.cpus, "CPU cores of each pod");
  command.option("--memory", job.memory, "memory of each pod, for example 500Gi");
  command
      .option("--volume", job.volumes,
              "CLAIM:/FOLDER, a persistent volume claim in the pods; may be repeated")
      .takes_one();
  command.option("--env", job.environment, "NAME=VALUE in the pods; may be repeated").takes_one();
}

}  // namespace

void setup_launch_kubernetes(const Command& group) {
  const Command command =
      group.command("kubernetes", "print the manifest of a run on Kubernetes, for kubectl apply");
  launch::KubernetesJob& job = command.runs(launch_kubernetes);
  command
      .option("--kind", job.kind,
              "indexed-job: of Kubernetes itself; pytorchjob: of the training operator; trainjob: "
              "of Kubeflow Trainer")
      .one_of({"indexed-job", "pytorchjob", "trainjob"})
      .shows_default();
  command.option("--name", job.name, "name of the objects").shows_default();
  command.option("--namespace", job.space, "namespace of the objects");
  add_pods(command, job);
  command.option("--runtime", job.runtime, "ClusterTrainingRuntime of a TrainJob").shows_default();
  command.option("--restarts", job.restarts, "how often the pods are replaced after a failure")
      .between(0, 1000)
      .shows_default();
  command
      .option("--grace", job.grace_s,
              "seconds that a pod has to save a checkpoint when it must end")
      .between(1, 100000)
      .shows_default();
  command.option("--program", job.program, "path of s2s-run in the image").shows_default();
  command.json("print one JSON array instead of YAML");
  command.option("command", job.words, kRankCommandDoc).required();
}

}  // namespace s2s::run
