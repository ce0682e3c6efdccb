#pragma once
// Error texts for starting a run of several processes and for collectives. Exit code 7.
// core/docs/reference/errors.md explains each id.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "s2s/error.h"
#include "s2s/kinds/communicator.h"

namespace s2s::comm_errors {

Error port_busy(const std::string& address);
Error unreachable(const std::string& address, int64_t rank, double waited_s,
                  const std::string& reason);
/// `present`: a text for each rank that joined.
Error missing_rank(const std::vector<int64_t>& missing, int64_t size, double waited_s,
                   const std::vector<std::string>& present);
Error duplicate_rank(int64_t rank, const std::string& first, const std::string& second);
/// `differences`: a line for each fact that differs.
Error ranks_differ(const std::vector<std::string>& differences);
/// For the ranks that rank 0 informs: the first line of its message.
Error start_refused(const std::string& id, int64_t rank, const std::string& first_line);
/// The introduction of rank `from` in the store is invalid.
Error introduction(int64_t from, const std::string& reason);
Error no_verdict(int64_t rank, const std::string& reason);
Error mesh(int64_t mesh_ranks, int64_t world_ranks, const std::string& shape);
/// trainer.devices and trainer.num_nodes do not match the started processes: `local_size` on this
/// machine, on `num_machines`.
Error started(std::optional<int64_t> devices, std::optional<int64_t> num_nodes, int64_t local_size,
              int64_t num_machines);
/// `command` runs in one process, and several were started.
Error one_process(const std::string& command, int64_t num_ranks);
/// `communicator` exchanges tensors on another device than the run uses.
Error other_device(const std::string& communicator, const std::string& its_device,
                   const std::string& device);
/// A collective of the group got a tensor on `device`.
Error tensor_device(const GroupPlace& place, at::DeviceType its_device, at::Device device);
/// For the ranks that wait for the work `what` of rank 0.
Error rank0_failed(int64_t rank, const std::string& what, const std::string& first_line);
Error rank0_lost(int64_t rank, const std::string& what, const std::string& reason);
Error rank0_halted(int64_t rank, const std::string& what, std::chrono::milliseconds waited);

/// The cause of a failure according to the text of the back end.
enum class CollectiveFailure { kTimeout, kLost, kOther };
CollectiveFailure failure_of(const std::string& reason);
const char* id_of(CollectiveFailure failure);  // "comm/timeout"
/// The group `name` could not be connected on rank `rank`. `reason`: the text of the back end.
Error connection(const std::string& name, int64_t rank, const std::string& reason);
/// A collective failed. `reason`: the text of the back end. `explanation`: lines about the cause,
/// each starting with "\n  ", or "".
Error collective(const CollectiveRecord& record, const GroupPlace& place, const std::string& reason,
                 const std::string& explanation = {});

}  // namespace s2s::comm_errors
