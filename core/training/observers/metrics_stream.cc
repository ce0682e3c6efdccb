#include "observers/metrics_stream.h"

#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

namespace s2s::run {

MetricsStream::MetricsStream(const std::string& run_folder) {
  const nlohmann::json line = {{"run", run_folder}};
  print(line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

void MetricsStream::print(const std::string& line) const {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

bool MetricsStream::is_reader_gone() const {
  pollfd output = {STDOUT_FILENO, 0, 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace s2s::run
