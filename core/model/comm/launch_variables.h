#pragma once
// Reads and checks the environment variables of launchers.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "s2s/error.h"

namespace s2s {

/// Reads an environment variable; nothing when it is not set.
using ReadVariable = std::function<std::optional<std::string>(const char*)>;
/// Reads a variable of this process. An empty value counts as not set.
std::optional<std::string> process_variable(const char* name);

namespace comm_errors {
/// An environment variable of the launcher is wrong: `what` is wrong, `next` is the next step.
Error environment(const std::string& what, const std::string& next);
}  // namespace comm_errors

constexpr int64_t kMaxRanks = 1 << 20;

class LaunchVariables {
 public:
  explicit LaunchVariables(const ReadVariable& read) : read_(read) {}

  std::optional<std::string> text(const char* name) const { return read_(name); }
  bool has(const char* name) const { return read_(name).has_value(); }
  /// Reads an integer in [low, high]. Errors: [comm/environment].
  int64_t number(const char* name, int64_t low, int64_t high) const;
  int64_t number_or(const char* name, int64_t otherwise, int64_t low, int64_t high) const {
    return has(name) ? number(name, low, high) : otherwise;
  }

 private:
  const ReadVariable& read_;
};

/// A port below the ephemeral range (Linux: 32768 and above) that depends on `number` only.
uint16_t port_for(uint64_t number);
/// The same for the name of a job.
uint16_t port_for_name(const std::string& name);

/// Returns the first host of a SLURM host list: "gpu[07-09,12]-a,login" gives "gpu07-a".
std::string first_host(const std::string& host_list);

}  // namespace s2s
