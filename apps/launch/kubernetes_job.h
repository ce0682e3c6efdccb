#pragma once
// Manifests of a run on Kubernetes.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace s2s::launch {

struct KubernetesJob {
  /// indexed-job: a Job of Kubernetes and a service; pytorchjob: of the training operator v1;
  /// trainjob: of Kubeflow Trainer v2.
  std::string kind = "indexed-job";
  std::string name = "s2s", space, image, runtime = "torch-distributed";
  int num_nodes = 1;
  int num_ranks = 8;  // on each node
  int num_gpus = -1;  // of each pod; -1: one for each rank, 0: CPUs
  std::string cpus, memory;
  std::vector<std::string> environment;  // NAME=VALUE
  std::vector<std::string> volumes;      // CLAIM:/FOLDER, a persistent volume claim
  int restarts = 3;                      // failed pods that are replaced
  int grace_s = 300;                     // between SIGTERM and SIGKILL
  std::string program = "s2s-run";
  std::vector<std::string> words;  // the command of each rank
};

/// The objects, in the order in which they are created. In each pod, `s2s-run launch node` starts
/// the ranks; no Python is needed in the image. Errors: [launch/job].
std::vector<nlohmann::ordered_json> kubernetes_objects(const KubernetesJob& job);

/// Block style, with each object as a document. Texts are in double quotes where YAML could read
/// them as something else.
std::string yaml_documents(const std::vector<nlohmann::ordered_json>& objects);

}  // namespace s2s::launch
