#include "files/files_errors.h"

#include <fmt/format.h>

namespace s2s::files_errors {
namespace {

Error error(const char* name, std::string message) {
  return Error(ExitCode::kData, std::string("data/") + name, std::move(message));
}

}  // namespace

Error missing_manifest(const std::string& path) {
  return error("missing-file",
               fmt::format("the manifest '{}' cannot be opened; expected a file of Lhotse cuts "
                           "(.jsonl or .jsonl.gz); check cuts_path, or make a set with "
                           "'s2s-run data synth OUT'",
                           path));
}

Error gzip(const std::string& path, int64_t line, const std::string& reason) {
  return error("gzip", fmt::format("{}:{}: the compressed file is damaged after this line: {}; "
                                   "expected a whole gzip file ('gzip -t' tells); copy it again",
                                   path, line, reason));
}

Error json(const std::string& place, const std::string& reason) {
  return error("json",
               fmt::format("{}: this line is not JSON: {}; expected one JSON object on each "
                           "line; mend or remove the line",
                           place, reason));
}

Error field(const std::string& place, const std::string& name, const std::string& found,
            const std::string& expected) {
  return error("field", fmt::format("{}: '{}' is {}; expected {} as in Lhotse's manifests", place,
                                    name, found, expected));
}

}  // namespace s2s::files_errors
