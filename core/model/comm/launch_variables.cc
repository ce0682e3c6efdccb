#include "comm/launch_variables.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/number_text.h"

namespace s2s {
namespace {

constexpr uint64_t kFirstPort = 12000;
constexpr uint64_t kNumPorts = 20000;

}  // namespace

Error comm_errors::environment(const std::string& what, const std::string& next) {
  return {ExitCode::kCommunication, "comm/environment", what + "\n  next:      " + next};
}

std::optional<std::string> process_variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

int64_t LaunchVariables::number(const char* name, int64_t low, int64_t high) const {
  const std::optional<std::string> value = read_(name);
  if (!value) {
    throw comm_errors::environment(fmt::format("the launcher did not set {}", name),
                                   "start the run with torchrun, srun, mpirun or s2s-run launch, "
                                   "or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT");
  }
  const auto out = read_number<int64_t>(*value);
  if (!out || *out < low || *out > high) {
    throw comm_errors::environment(
        fmt::format("{}={}: expected a whole number from {} to {}", name, *value, low, high),
        fmt::format("correct {}, or unset it to run as one process", name));
  }
  return *out;
}

uint16_t port_for(uint64_t number) {
  return static_cast<uint16_t>(kFirstPort + number % kNumPorts);
}

uint16_t port_for_name(const std::string& name) {
  uint64_t sum = 0;
  for (const char letter : name) sum = sum * 31 + static_cast<unsigned char>(letter);
  return port_for(sum);
}

std::string first_host(const std::string& host_list) {
  std::string host;
  for (size_t i = 0; i < host_list.size() && host_list[i] != ','; ++i) {
    if (host_list[i] != '[') {
      host += host_list[i];
      continue;
    }
    const size_t number = i + 1;
    const size_t number_end = host_list.find_first_of("-,]", number);
    i = host_list.find(']', number);
    if (i == std::string::npos) break;
    host += host_list.substr(number, number_end - number);
  }
  return host;
}

}  // namespace s2s
