#pragma once
// Parses untrusted bytes in processes without rights (--untrusted). Such a process has only the
// bytes or files that it was given: it cannot open, connect, start or signal anything. One process,
// the starter, is forked before there are threads; it forks a new process for each parser.

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace s2s {

/// What a parser process runs: a plain function of a library that was loaded before
/// start_parser_processes. `files` are the open files of ParserProcess with new numbers. Its
/// exceptions reach the caller: an Error unchanged, others as std::runtime_error with their text.
using ForeignParser = std::string (*)(std::string_view request, const std::vector<int>& files);

/// Forks the starter. To be called once per process, before there are threads and before
/// `lose_rights`.
/// Errors: [untrusted/system].
void start_parser_processes();

/// Ends the starter and all parser processes, and waits for them. Does nothing without a starter.
void end_parser_processes();

/// Whether this process parses in other processes. False in a parser process itself.
bool parses_apart();

/// Limits of one request.
struct ParserLimits {
  int seconds = 10;                         // of processor time
  int64_t memory_bytes = int64_t{1} << 30;  // in addition to the starter's
  int64_t file_bytes = 0;                   // maximum size of a file that it writes to
};

/// A process for one parser. It answers any number of requests, one at a time.
class ParserProcess {
 public:
  /// Starts the process. `what` names in messages what is parsed. The caller keeps `files`.
  /// Errors: [untrusted/parser].
  ParserProcess(std::string what, ForeignParser parse, const std::vector<int>& files = {},
                const ParserLimits& limits = {});
  /// Ends the process.
  ~ParserProcess();
  ParserProcess(const ParserProcess&) = delete;
  ParserProcess& operator=(const ParserProcess&) = delete;

  /// Sends a request and returns the answer.
  /// Errors: those of the parser; std::bad_alloc when it needs more memory than it may have;
  /// [untrusted/parser] when it takes too long, crashes or does something forbidden. After the last
  /// two the process has ended.
  std::string answer(std::string_view request);
  bool is_over() const { return is_over_; }

 private:
  [[noreturn]] void fail(const std::string& reason);
  void write_all(std::string_view bytes);
  void read_all(char* to, size_t num_bytes);

  std::string what_;
  ParserLimits limits_;
  int stream_ = -1;
  int64_t process_ = 0;
  bool is_over_ = false;
};

/// Sends one request to a new process.
std::string parse_apart(const std::string& what, ForeignParser parse, std::string_view request,
                        const std::vector<int>& files = {}, const ParserLimits& limits = {});

}  // namespace s2s
