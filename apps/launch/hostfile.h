#pragma once
// The machines of a run, in DeepSpeed's words: a hostfile with slots, and filters of it.
// Source: deepspeed/launcher/runner.py (fetch_hostfile, parse_resource_filter).

#include <optional>
#include <string>
#include <vector>

namespace s2s::launch {

struct HostSlots {
  std::string host;
  std::vector<int> slots;    // numbers of devices, ascending; a rank for each
  bool is_filtered = false;  // not all slots of the hostfile: the ranks may use these devices only
};

/// Reads "worker-0 slots=4" lines; `#` begins a comment. `name`: of the file, for messages.
/// Errors: [launch/hostfile] with the line.
std::vector<HostSlots> parse_hostfile(const std::string& text, const std::string& name);

struct HostFilter {
  std::string include;  // "worker-0@worker-1:0,2": these hosts, of the second only these slots
  std::string exclude;  // the same grammar: without these hosts or slots
  std::optional<int> num_nodes;  // the first hosts only
  std::optional<int> num_slots;  // the first slots of each host only
};

/// Errors: [launch/hosts] for an unknown host or slot, both filters at once, or nothing left.
std::vector<HostSlots> filter_hosts(std::vector<HostSlots> hosts, const HostFilter& filter);

}  // namespace s2s::launch
