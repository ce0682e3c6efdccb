#include "launch/kubernetes_job.h"

#include <algorithm>

#include "launch/exported_environment.h"
#include "s2s/error.h"

namespace s2s::launch {
namespace {

using nlohmann::ordered_json;

constexpr const char* kPort = "29500";
/// After this exit code the training operator makes a new pod; after 1 or 2 it does not.
constexpr const char* kRetryCode = "138";

Error manifest_error(const std::string& problem, const std::string& next) {
  return {ExitCode::kUsage, "launch/job", problem + "\n  next:      " + next};
}

int gpus_of_pod(const KubernetesJob& job) {
  return job.num_gpus < 0 ? job.num_ranks : job.num_gpus;
}

void check(const KubernetesJob& job) {
  const auto is_part_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  const bool is_name = !job.name.empty() && job.name.size() <= 52 && job.name.front() != '-' &&
                       job.name.back() != '-' &&
                       std::all_of(job.name.begin(), job.name.end(), is_part_of_name);
  if (!is_name) {
    throw manifest_error("--name '" + job.name + "' cannot be the name of an object",
                         "use at most 52 lower-case letters, digits and dashes");
  }
  if (job.kind == "trainjob" && !job.volumes.empty()) {
    throw manifest_error(
        "--volume: the volumes of a TrainJob belong to its runtime",
        "add them to the ClusterTrainingRuntime '" + job.runtime + "', or give --kind pytorchjob");
  }
  for (const std::string& volume : job.volumes) {
    const size_t colon = volume.find(":/");
    if (colon == std::string::npos || colon == 0) {
      throw manifest_error("--volume '" + volume + "'", "write CLAIM:/FOLDER");
    }
  }
}

ordered_json resources(const KubernetesJob& job) {
  ordered_json limits = ordered_json::object();
  if (!job.cpus.empty()) limits["cpu"] = job.cpus;
  if (!job.memory.empty()) limits["memory"] = job.memory;
  // A text, because Kubernetes reads quantities.
  if (gpus_of_pod(job) > 0) limits["nvidia.com/gpu"] = std::to_string(gpus_of_pod(job));
  return {{"limits", limits}};
}

ordered_json environment(const KubernetesJob& job) {
  ordered_json out = ordered_json::array();
  for (const std::string& one : job.environment) {
    const auto [name, value] = parse_assignment(one, "--env");
    out.push_back({{"name", name}, {"value", value}});
  }
  return out;
}

ordered_json command(const KubernetesJob& job, bool has_retry_code) {
  ordered_json words = {job.program, "launch", "node", "--num-ranks",
                        std::to_string(job.num_ranks)};
  if (has_retry_code) {
    words.push_back("--retry-code");
    words.push_back(kRetryCode);
  }
  // The ranks get most of the time that the pod has; their launcher ends after them.
  words.push_back("--grace");
  words.push_back(std::to_string(std::max(1, job.grace_s - 20)));
  words.push_back("--");
  for (const std::string& word : job.words) words.push_back(word);
  return words;
}

ordered_json container(const KubernetesJob& job, const std::string& name, bool has_retry_code) {
  ordered_json out = {{"name", name},
                      {"image", job.image},
                      {"command", command(job, has_retry_code)},
                      {"env", environment(job)},
                      {"resources", resources(job)}};
  ordered_json mounts = ordered_json::array();
  // Ranks of a pod exchange data in shared memory, of which a pod has 64 MiB by default.
  mounts.push_back({{"name", "shared-memory"}, {"mountPath", "/dev/shm"}});
  for (size_t i = 0; i < job.volumes.size(); ++i) {
    const std::string folder = job.volumes[i].substr(job.volumes[i].find(":/") + 1);
    mounts.push_back({{"name", "volume-" + std::to_string(i)}, {"mountPath", folder}});
  }
  out["volumeMounts"] = mounts;
  return out;
}

ordered_json volumes(const KubernetesJob& job) {
  ordered_json out = ordered_json::array();
  out.push_back({{"name", "shared-memory"}, {"emptyDir", {{"medium", "Memory"}}}});
  for (size_t i = 0; i < job.volumes.size(); ++i) {
    const std::string claim = job.volumes[i].substr(0, job.volumes[i].find(":/"));
    out.push_back({{"name", "volume-" + std::to_string(i)},
                   {"persistentVolumeClaim", {{"claimName", claim}}}});
  }
  return out;
}

ordered_json metadata(const KubernetesJob& job) {
  ordered_json out = {{"name", job.name}};
  if (!job.space.empty()) out["namespace"] = job.space;
  return out;
}

ordered_json variable(const std::string& name, const std::string& value) {
  return {{"name", name}, {"value", value}};
}

/// Gives the pods of an indexed Job names, so that they find the first one.
ordered_json service(const KubernetesJob& job) {
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", metadata(job)},
          {"spec",
           {{"clusterIP", "None"},
            {"publishNotReadyAddresses", true},
            {"selector", {{"batch.kubernetes.io/job-name", job.name}}}}}};
}

ordered_json failure_policy() {
  const ordered_json mistakes = {
      {"action", "FailJob"}, {"onExitCodes", {{"operator", "In"}, {"values", {2, 3, 4, 5, 6}}}}};
  const ordered_json disruption = {
      {"action", "Ignore"},
      {"onPodConditions",
       ordered_json::array({{{"type", "DisruptionTarget"}, {"status", "True"}}})}};
  return {{"rules", ordered_json::array({mistakes, disruption})}};
}

ordered_json indexed_job(const KubernetesJob& job) {
  ordered_json worker = container(job, "s2s", false);
  worker["env"].push_back(variable("NUM_NODES", std::to_string(job.num_nodes)));
  worker["env"].push_back(variable("MASTER_ADDR", job.name + "-0." + job.name));
  worker["env"].push_back(variable("MASTER_PORT", kPort));
  // The job's own number keeps other runs out.
  const char* const field = "metadata.labels['batch.kubernetes.io/controller-uid']";
  worker["env"].push_back(
      {{"name", "S2S_JOB_TOKEN"}, {"valueFrom", {{"fieldRef", {{"fieldPath", field}}}}}});
  const ordered_json pod = {{"subdomain", job.name},
                            {"restartPolicy", "Never"},
                            {"terminationGracePeriodSeconds", job.grace_s},
                            {"containers", ordered_json::array({worker})},
                            {"volumes", volumes(job)}};
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", metadata(job)},
          {"spec",
           {{"completionMode", "Indexed"},
            {"completions", job.num_nodes},
            {"parallelism", job.num_nodes},
            {"backoffLimit", job.restarts * job.num_nodes},
            {"podReplacementPolicy", "Failed"},
            {"podFailurePolicy", failure_policy()},
            {"template", {{"spec", pod}}}}}};
}

ordered_json replicas(const KubernetesJob& job, int count) {
  const ordered_json pod = {{"terminationGracePeriodSeconds", job.grace_s},
                            {"containers", ordered_json::array({container(job, "pytorch", true)})},
                            {"volumes", volumes(job)}};
  return {{"replicas", count}, {"restartPolicy", "ExitCode"}, {"template", {{"spec", pod}}}};
}

ordered_json pytorch_job(const KubernetesJob& job) {
  ordered_json specs = {{"Master", replicas(job, 1)}};
  if (job.num_nodes > 1) specs["Worker"] = replicas(job, job.num_nodes - 1);
  return {{"apiVersion", "kubeflow.org/v1"},
          {"kind", "PyTorchJob"},
          {"metadata", metadata(job)},
          {"spec",
           {{"runPolicy", {{"backoffLimit", job.restarts}, {"cleanPodPolicy", "None"}}},
            {"pytorchReplicaSpecs", specs}}}};
}

ordered_json train_job(const KubernetesJob& job) {
  return {{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
          {"kind", "TrainJob"},
          {"metadata", metadata(job)},
          {"spec",
           {{"runtimeRef", {{"name", job.runtime}}},
            {"trainer",
             {{"image", job.image},
              {"command", command(job, false)},
              {"numNodes", job.num_nodes},
              {"numProcPerNode", job.num_ranks},
              {"env", environment(job)},
              {"resourcesPerNode", resources(job)}}}}}};
}

}  // namespace

std::vector<ordered_json> kubernetes_objects(const KubernetesJob& job) {
  check(job);
  if (job.kind == "pytorchjob") return {pytorch_job(job)};
  if (job.kind == "trainjob") return {train_job(job)};
  return {service(job), indexed_job(job)};
}

}  // namespace s2s::launch
