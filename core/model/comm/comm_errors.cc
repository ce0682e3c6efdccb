#include "comm/comm_errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "comm/rank_list.h"

namespace s2s::comm_errors {
namespace {

Error comm_error(const char* id, std::string message) {
  return {ExitCode::kCommunication, id, std::move(message)};
}

bool mentions(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    if (text.find(word) != std::string::npos) return true;
  }
  return false;
}

/// Returns "all_reduce 'loss' (number 3 of group data, ranks 0-3; 8 bytes of Float)".
std::string describe(const CollectiveRecord& record, const GroupPlace& place) {
  std::string text = to_string(record.kind);
  if (!record.name.empty()) text += " '" + record.name + "'";
  text += fmt::format(" (number {} of group {}, ranks {}", record.sequence, record.group,
                      rank_list(place.ranks));
  if (record.peer >= 0) {
    text += fmt::format("; {} rank {}",
                        record.kind == CollectiveKind::kSend   ? "to"
                        : record.kind == CollectiveKind::kRecv ? "from"
                                                               : "root",
                        place.ranks[static_cast<size_t>(record.peer)]);
  }
  if (record.num_bytes > 0) {
    text += fmt::format("; {} bytes of {}", record.num_bytes, c10::toString(record.dtype));
  }
  return text + ")";
}

}  // namespace

CollectiveFailure failure_of(const std::string& reason) {
  if (mentions(reason, {"imed out", "imeout"})) return CollectiveFailure::kTimeout;
  const bool is_lost = mentions(reason, {"onnection closed", "onnection reset", "roken pipe",
                                         "onnection refused", "remote process exited"});
  return is_lost ? CollectiveFailure::kLost : CollectiveFailure::kOther;
}

const char* id_of(CollectiveFailure failure) {
  constexpr const char* kIds[] = {"comm/timeout", "comm/lost", "comm/failed"};
  return kIds[static_cast<size_t>(failure)];
}

Error port_busy(const std::string& address) {
  return comm_error(
      "comm/port-busy",
      fmt::format(
          "rank 0 cannot listen at {}: the port is in use, by another run or by a second rank 0\n"
          "  next:      stop the other process, or set another port in MASTER_PORT (torchrun: "
          "--master-port)",
          address));
}

Error unreachable(const std::string& address, int64_t rank, double waited_s,
                  const std::string& reason) {
  if (rank == 0) {
    return comm_error(
        "comm/unreachable",
        fmt::format("rank 0 could not connect to itself at {} within {:g} s: {}\n"
                    "  next:      set MASTER_ADDR to an address of the machine of rank 0",
                    address, waited_s, reason));
  }
  return comm_error(
      "comm/unreachable",
      fmt::format("rank {} could not connect to rank 0 at {} within {:g} s: {}\n"
                  "  next:      check whether rank 0 started or ended with a message, and whether "
                  "MASTER_ADDR and MASTER_PORT point to its machine",
                  rank, address, waited_s, reason));
}

Error missing_rank(const std::vector<int64_t>& missing, int64_t size, double waited_s,
                   const std::vector<std::string>& present) {
  return comm_error("comm/missing-rank",
                    fmt::format("{} of {} ranks did not join within {:g} s: {}\n"
                                "  joined:    {}\n"
                                "  next:      find out why {} did not start; the launcher must "
                                "start WORLD_SIZE processes",
                                missing.size(), size, waited_s, rank_list(missing),
                                fmt::join(present, "; "), missing.size() == 1 ? "it" : "they"));
}

Error duplicate_rank(int64_t rank, const std::string& first, const std::string& second) {
  return comm_error("comm/duplicate-rank",
                    fmt::format("two processes are rank {}: {} and {}\n  next:      give every "
                                "process a different RANK (several machines: --node-rank)",
                                rank, first, second));
}

Error ranks_differ(const std::vector<std::string>& differences) {
  return comm_error("comm/ranks-differ",
                    fmt::format("the ranks of this run do not agree; nothing was started\n  {}\n  "
                                "expected:  the same command, configuration and program on every "
                                "rank",
                                fmt::join(differences, "\n  ")));
}

Error start_refused(const std::string& id, int64_t rank, const std::string& first_line) {
  return {ExitCode::kCommunication, id,
          fmt::format("rank {} does not start: {} (rank 0 says more)", rank, first_line)};
}

Error introduction(int64_t from, const std::string& reason) {
  return comm_error(
      "comm/introduction",
      fmt::format("the message of rank {} in the run's store is invalid: {}\n  next:      "
                  "check that no other program uses this address; set S2S_JOB_TOKEN to the same "
                  "secret on all ranks",
                  from, reason));
}

Error no_verdict(int64_t rank, const std::string& reason) {
  return comm_error("comm/unreachable",
                    fmt::format("rank {} lost rank 0 while the run started: {}\n  next:      see "
                                "the message of rank 0",
                                rank, reason));
}

Error mesh(int64_t mesh_ranks, int64_t world_ranks, const std::string& shape) {
  return comm_error(
      "comm/mesh",
      fmt::format(
          "the mesh has {} rank{} ({}), but {} {} started\n  next:      start {} process{}, "
          "or change the axes of trainer.strategy, or use another strategy (s2s-run plugin list "
          "--kind strategy)",
          mesh_ranks, mesh_ranks == 1 ? "" : "s", shape, world_ranks,
          world_ranks == 1 ? "was" : "were", mesh_ranks, mesh_ranks == 1 ? "" : "es"));
}

Error started(std::optional<int64_t> devices, std::optional<int64_t> num_nodes, int64_t local_size,
              int64_t num_machines) {
  std::string asked;
  if (devices) asked = fmt::format("trainer.devices is {}", *devices);
  if (num_nodes) {
    asked += fmt::format("{}trainer.num_nodes is {}", asked.empty() ? "" : " and ", *num_nodes);
  }
  return comm_error(
      "comm/mesh",
      fmt::format("{}, but {} process{} {} started on each of {} machine{}\n  next:      start as "
                  "many as the configuration says, or leave both keys out (devices: auto)",
                  asked, local_size, local_size == 1 ? "" : "es", local_size == 1 ? "was" : "were",
                  num_machines, num_machines == 1 ? "" : "s"));
}

Error one_process(const std::string& command, int64_t num_ranks) {
  return comm_error("comm/one-process",
                    fmt::format("'{}' runs in one process, but {} were started; all would write "
                                "the same files\n  next:      start one process",
                                command, num_ranks));
}

Error other_device(const std::string& communicator, const std::string& its_device,
                   const std::string& device) {
  return comm_error("comm/device",
                    fmt::format("trainer.communicator '{}' exchanges tensors on the {}, but this "
                                "run computes on the {}\n  next:      trainer.communicator.name: "
                                "auto, or another trainer.accelerator",
                                communicator, its_device, device));
}

Error tensor_device(const GroupPlace& place, at::DeviceType its_device, at::Device device) {
  return comm_error(
      "comm/device",
      fmt::format("rank {}: group {} exchanges tensors on the {}, and got one on {}\n  next:      "
                  "start one process for each rank, with a device each, and "
                  "trainer.communicator.name: auto; ranks that are threads of one process would "
                  "wait for each other in the one backward thread of a device",
                  place.ranks[static_cast<size_t>(place.rank)], place.name,
                  its_device == at::kCPU ? "CPU" : c10::DeviceTypeName(its_device, true),
                  device.str()));
}

Error rank0_failed(int64_t rank, const std::string& what, const std::string& first_line) {
  return comm_error("comm/rank-0-failed",
                    fmt::format("rank {} ends because rank 0 failed ({}): {}\n  next:      see the "
                                "message of rank 0",
                                rank, what, first_line));
}

Error rank0_lost(int64_t rank, const std::string& what, const std::string& reason) {
  return comm_error("comm/lost", fmt::format("rank {} lost rank 0 while it waited for its work "
                                             "({}): {}\n  next:      see the message of rank 0",
                                             rank, what, reason));
}

Error rank0_halted(int64_t rank, const std::string& what, std::chrono::milliseconds waited) {
  return comm_error("comm/timeout",
                    fmt::format("rank {} waits for rank 0's work ({}), but rank 0 has not "
                                "responded for {:g} s\n  next:      check whether its process is "
                                "stopped or its machine is down",
                                rank, what, static_cast<double>(waited.count()) / 1000));
}

Error connection(const std::string& name, int64_t rank, const std::string& reason) {
  const std::string group = fmt::format("rank {}: the group '{}'", rank, name);
  switch (failure_of(reason)) {
    case CollectiveFailure::kTimeout:
      return comm_error("comm/timeout", group + " was not connected in time: " + reason +
                                            "\n  next:      look for a rank that ended or is far "
                                            "behind");
    case CollectiveFailure::kLost:
      return comm_error("comm/lost", group + " lost a rank while it was connected: " + reason +
                                         "\n  next:      look at the message of the rank that "
                                         "ended first");
    default:
      return comm_error("comm/failed", group + " could not be connected: " + reason);
  }
}

Error collective(const CollectiveRecord& record, const GroupPlace& place, const std::string& reason,
                 const std::string& explanation) {
  const std::string what = fmt::format("rank {}: {}", place.ranks[static_cast<size_t>(place.rank)],
                                       describe(record, place));
  const double timeout_s = static_cast<double>(place.timeout.count()) / 1000;
  switch (failure_of(reason)) {
    case CollectiveFailure::kTimeout:
      return comm_error("comm/timeout",
                        fmt::format("{} did not end within {:g} s{}\n  back end:  {}\n  next:      "
                                    "look for a rank that ended or is far behind; a longer limit "
                                    "helps only when a rank is slow",
                                    what, timeout_s, explanation, reason));
    case CollectiveFailure::kLost:
      return comm_error("comm/lost",
                        fmt::format("{} lost a rank of its group{}\n  back end:  {}\n  next:      "
                                    "look at the message of the rank that ended first",
                                    what, explanation, reason));
    default:
      return comm_error("comm/failed", fmt::format("{} failed: {}{}", what, reason, explanation));
  }
}

}  // namespace s2s::comm_errors
