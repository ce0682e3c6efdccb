#pragma once
// Errors that a user can cause. Each has a stable id and one message with the place, the value,
// what was expected and the next step (core/docs/reference/errors.md lists them all).

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace s2s {

/// Exit codes of s2s-run. Scripts depend on them: do not change the numbers.
enum class ExitCode : int {
  kOk = 0,
  kCheckFailed = 1,
  kUsage = 2,
  kConfig = 3,
  kPlugin = 4,
  kData = 5,
  kNumerics = 6,
  kCommunication = 7,
  kStopped = 8,
};

/// A user's mistake. `what()` is "[id] message"; the message may have several lines. Throw it only
/// from a named constructor, next to the other named constructors of the same area.
class Error : public std::runtime_error {
 public:
  /// id: "area/name", for example "plugin/unknown"; message: lower case, no final period.
  Error(ExitCode exit_code, std::string id, std::string message);
  ~Error() override;
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;

  const std::string& id() const { return id_; }
  const std::string& message() const { return message_; }
  ExitCode exit_code() const { return exit_code_; }

 private:
  ExitCode exit_code_;
  std::string id_;
  std::string message_;
};

/// Creates an error with the exit code of configuration errors. For named constructors.
inline Error config_error(const char* id, std::string message) {
  return {ExitCode::kConfig, id, std::move(message)};
}
/// Creates an error with the exit code of data errors. For named constructors.
inline Error data_error(const char* id, std::string message) {
  return {ExitCode::kData, id, std::move(message)};
}

/// Collects every mistake of one validation, so that all are reported together.
class Findings {
 public:
  /// Adds an error, to be thrown by throw_if_any; one that is there already counts once.
  void add(Error error);
  bool empty() const { return errors_.empty(); }
  const std::vector<Error>& errors() const { return errors_; }
  /// Throws nothing if there are no errors, the error itself if there is one, and otherwise one
  /// error that lists all of them, with the id and exit code of the first.
  void throw_if_any() const;

 private:
  std::vector<Error> errors_;
};

/// The candidate nearest to `name` in edit distance, or "" when none is close enough to suggest.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// Called by S2S_ASSERT: throws std::logic_error with place, condition and reason.
[[noreturn]] void assertion_failed(const char* condition, const char* why, const char* file,
                                   int line);

}  // namespace s2s

/// Checks an invariant that only a programming error can break; throws std::logic_error.
#define S2S_ASSERT(condition, why)                                  \
  do {                                                              \
    if (!(condition)) {                                             \
      ::s2s::assertion_failed(#condition, why, __FILE__, __LINE__); \
    }                                                               \
  } while (false)
