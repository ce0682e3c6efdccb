#include "s2s_run/score/score_errors.h"

#include <fmt/format.h>

namespace s2s::run::score_errors {

Error no_file(const std::string& path) {
  return data_error("score/no-file",
                    fmt::format("there is no file '{}'\n  expected: JSON lines, such as the "
                                "predictions.jsonl that validate writes into the report folder",
                                path));
}

Error no_object(const std::string& path, int64_t line, const std::string& what) {
  return data_error(
      "score/json",
      fmt::format("{}:{}: {}\n  expected: one JSON object in each line, with a text of "
                  "the system and a reference text",
                  path, line, what));
}

Error no_text(const std::string& path, int64_t line, const std::string& kind,
              const std::string& tried, const std::string& keys) {
  return data_error("score/no-text",
                    fmt::format("{}:{}: no {} text\n  looked for: {}\n  the line has: {}\n"
                                "  next: name the key with --{} KEY",
                                path, line, kind, tried, keys, kind));
}

Error no_examples(const std::string& path) {
  return data_error("score/no-examples",
                    fmt::format("{} has no lines\n  expected: one JSON object in each line", path));
}

Error other_examples(const std::string& first, const std::string& second,
                     const std::string& difference) {
  return data_error(
      "score/other-examples",
      fmt::format("{} and {} have other examples: {}\n  expected: the same ids, or the "
                  "same number of lines without ids\n  next: score the files one by "
                  "one, or keep the examples that both have",
                  first, second, difference));
}

}  // namespace s2s::run::score_errors
