#pragma once
// Messages about starting a run of several processes and about their collectives. Exit code 7;
// core/docs/reference/errors.md explains each id.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "s2s/error.h"
#include "s2s/kinds/communicator.h"

namespace s2s::comm_errors {

/// The launcher's variables: `what` is wrong, `next` is what to do.
Error environment(const std::string& what, const std::string& next);
Error port_busy(const std::string& address);
Error unreachable(const std::string& address, int64_t rank, double waited_s,
                  const std::string& reason);
/// `present`: a text for each rank that came.
Error missing_rank(const std::vector<int64_t>& missing, int64_t size, double waited_s,
                   const std::vector<std::string>& present);
Error duplicate_rank(int64_t rank, const std::string& first, const std::string& second);
/// `differences`: a line for each fact.
Error ranks_differ(const std::vector<std::string>& differences);
/// On the ranks that rank 0 tells: the first line of its message.
Error start_refused(const std::string& id, int64_t rank, const std::string& first_line);
/// What came from rank `from` through the store is no text of a rank.
Error introduction(int64_t from, const std::string& reason);
Error no_verdict(int64_t rank, const std::string& reason);
Error mesh(int64_t mesh_ranks, int64_t world_ranks, const std::string& shape);
/// The processes that trainer.devices and trainer.num_nodes ask for are not those that are there:
/// `local_size` on this machine, on `num_machines`.
Error started(std::optional<int64_t> devices, std::optional<int64_t> num_nodes, int64_t local_size,
              int64_t num_machines);
/// `command` does not share its work, and several ranks would do the same.
Error one_process(const std::string& command, int64_t num_ranks);
/// `communicator` carries tensors of another device than the run computes on.
Error other_device(const std::string& communicator, const std::string& its_device,
                   const std::string& device);
/// On the ranks that wait for rank 0's work `what`.
Error rank0_failed(int64_t rank, const std::string& what, const std::string& first_line);
Error rank0_lost(int64_t rank, const std::string& what, const std::string& reason);
Error rank0_halted(int64_t rank, const std::string& what, std::chrono::milliseconds waited);

/// What a back end's text says.
enum class CollectiveFailure { kTimeout, kLost, kOther };
CollectiveFailure failure_of(const std::string& reason);
const char* id_of(CollectiveFailure failure);  // "comm/timeout"
/// Group `name` of rank `rank` was not connected, for `reason`, the back end's text.
Error connection(const std::string& name, int64_t rank, const std::string& reason);
/// A collective that failed with `reason`, the back end's text. explanation: what is known about
/// the cause; lines that begin with "\n  ", or "".
Error collective(const CollectiveRecord& record, const GroupPlace& place, const std::string& reason,
                 const std::string& explanation = {});

}  // namespace s2s::comm_errors
