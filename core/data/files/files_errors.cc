#include "files/files_errors.h"

#include <fmt/format.h>

#include "base/untrusted.h"
#include "files/gzip_stream.h"
#include "files/line_file.h"
#include "s2s/foreign_text.h"

namespace s2s::files_errors {

Error missing_manifest(const std::string& path) {
  return data_error(
      "data/missing-file",
      fmt::format("the manifest '{}' cannot be opened; expected a file of Lhotse cuts (.jsonl or "
                  ".jsonl.gz); check cuts_path, or create a data set with 's2s-run data synth OUT'",
                  path));
}

Error gzip(const std::string& path, int64_t line, const std::string& reason) {
  return data_error(
      "data/gzip",
      fmt::format("{}:{}: the compressed file is damaged after this line: {}; expected a complete "
                  "gzip file (check with 'gzip -t'); copy it again",
                  path, line, reason));
}

Error json(const std::string& place, const std::string& reason) {
  return data_error("data/json",
                    fmt::format("{}: this line is not JSON: {}; expected one JSON object on each "
                                "line; fix or remove the line",
                                place, reason));
}

Error json_value(const std::string& place, const std::string& reason) {
  return data_error("data/json",
                    fmt::format("{}: {}; expected a JSON array of objects, or one JSON object on "
                                "each line; copy the file again, or fix it there",
                                place, reason));
}

Error long_line(const std::string& path, int64_t good_lines) {
  return json(fmt::format("{}:{}", path, good_lines + 1),
              fmt::format("it has more than {} bytes without a line end", files::kMostLineBytes));
}

Error too_much_content(const std::string& path, int64_t compressed_bytes, int64_t most_bytes) {
  return data_error(
      "data/gzip",
      fmt::format(
          "{}: its {} bytes are compressed from more than {}; expected at most {} times as much, "
          "or {} bytes; if this is intended, decompress it ('gzip -d') and give the result",
          path, compressed_bytes, most_bytes, files::kMostRatio, files::kContentBytes));
}

Error too_many_lines(const std::string& path, int64_t compressed_bytes, int64_t num_lines) {
  return data_error(
      "data/gzip",
      fmt::format(
          "{}: its {} bytes are compressed from more than {} lines; expected fewer in a file of "
          "its size; if this is intended, decompress it ('gzip -d') and give the result",
          path, compressed_bytes, num_lines));
}

Error field(const std::string& place, const std::string& name, const std::string& found,
            const std::string& expected) {
  return data_error("data/field",
                    fmt::format("{}: '{}' is {}; expected {} as in Lhotse's manifests", place, name,
                                found, expected));
}

Error missing_file(const std::string& path, const std::string& expected) {
  return data_error("data/missing-file",
                    fmt::format("the file '{}' does not exist; expected {}", path, expected));
}

Error unreadable_file(const std::string& path, const std::string& reason) {
  return data_error(
      "io/file",
      fmt::format("{}: cannot be read: {}; expected a readable file; check its permissions and "
                  "the disk",
                  path, reason));
}

Error gzip_bytes(const std::string& path, int64_t num_good_bytes, const std::string& reason) {
  return data_error(
      "data/gzip",
      fmt::format("{}: the compressed file is damaged after {} bytes of content: {}; expected a "
                  "complete gzip file (check with 'gzip -t'); copy it again",
                  path, num_good_bytes, reason));
}

Error tar(const std::string& path, int64_t offset, const std::string& reason) {
  return data_error("data/tar", fmt::format("{}: byte {}: {}; expected a complete tar archive "
                                            "(check with 'tar tf'); copy or write it again",
                                            path, offset, reason));
}

Error index(const std::string& path, int64_t row, const std::string& reason) {
  return data_error("data/index", fmt::format("{}: row {}: {}; expected the file from which its "
                                              "index was created; remove {}.idx and run again",
                                              path, row, reason, path));
}

Error npy(const std::string& place, const std::string& reason) {
  return data_error("data/npy", fmt::format("{}: this array cannot be read: {}; expected a numeric "
                                            ".npy file as written by numpy.save; write it again",
                                            place, reason));
}

Error pipe(const std::string& command, const std::string& reason) {
  return data_error("data/pipe",
                    fmt::format("'pipe:{}' failed: {}; expected a shell command that writes the "
                                "data to its standard output; run it manually to find the cause",
                                printable_name(command), reason));
}

Error command_secret(const std::string& place, const std::string& variable) {
  return config_error(
      "data/command-secret",
      fmt::format(
          "{}: the shell command would contain the value of {}, which messages and process lists "
          "would show; expected a shell variable; write ${} in place of ${{oc.env:{}}}",
          place, variable, variable, variable));
}

Error command_refused(const std::string& command) {
  if (is_untrusted()) {
    return data_error("data/command-refused",
                      fmt::format("the shell command '{}' is not run with --untrusted, whoever "
                                  "allows it; expected data without commands; read the command, "
                                  "then leave --untrusted (or S2S_UNTRUSTED) out if you trust it",
                                  printable_name(command)));
  }
  return data_error(
      "data/command-refused",
      fmt::format("the shell command '{}' is in a data file or in a checkpoint's configuration, "
                  "and is not run; expected data without commands, or your permission to run them; "
                  "read the commands, then allow them with data.allow_commands=true in a run, with "
                  "--allow-commands of the data commands, or with S2S_ALLOW_COMMANDS=1",
                  printable_name(command)));
}

Error command_timeout(const std::string& value) {
  return data_error(
      "data/command-timeout",
      fmt::format("S2S_COMMAND_TIMEOUT_S is '{}'; expected seconds, more than 0; unset it "
                  "for data.command_timeout_s",
                  printable_name(value)));
}

Error url(const std::string& url) {
  return data_error("data/url",
                    fmt::format("'{}' is a URL; expected a path, or a command that fetches it, "
                                "for example 'pipe:curl -sSfL {}'; or copy the file first",
                                url, url));
}

Error braces(const std::string& pattern, const std::string& reason) {
  return data_error("data/braces",
                    fmt::format("'{}': {}; expected for example 'cuts.{{000000..000127}}.jsonl'"
                                " or '_OP_0..127_CL_'; fix the pattern",
                                pattern, reason));
}

}  // namespace s2s::files_errors
