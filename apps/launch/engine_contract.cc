#include "launch/engine_contract.h"

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "s2s/error.h"

namespace s2s::launch {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

void write_error_file(const std::string& message) {
  const std::string file = variable("TORCHELASTIC_ERROR_FILE");
  if (file.empty()) return;
  using nlohmann::json;
  const json extra = {{"py_callstack", message}, {"timestamp", std::to_string(std::time(nullptr))}};
  const json error = {{"message", {{"message", message}, {"extraInfo", extra}}}};
  std::ofstream(file) << error.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
}

int answer_engine(int exit_code) {
  const std::string file = variable("S2S_STOPPED_FILE");
  if (file.empty() || exit_code != static_cast<int>(ExitCode::kStopped)) return exit_code;
  std::ofstream out(file, std::ios::app);
  return out.flush() ? 0 : exit_code;
}

}  // namespace s2s::launch
