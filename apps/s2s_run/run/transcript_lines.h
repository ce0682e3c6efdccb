#pragma once
// Where `transcribe` writes lines while it goes on: standard output, or a file that has another
// name until it is complete.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/standard_output.h"
#include "convert/part_file.h"
#include "s2s_run/run/pipe_output.h"

namespace s2s::run {

/// Lines of the recordings `files`, in their order. A file FILE is FILE.part until it is complete,
/// and a later process continues it.
class TranscriptLines {
 public:
  /// output: "" for standard output. job: a hash of what the lines depend on but for the files.
  /// Errors: [data/convert-exists] when another process writes the file, [io/write].
  TranscriptLines(const std::string& output, uint64_t job, const std::vector<std::string>& files);
  ~TranscriptLines();
  TranscriptLines(const TranscriptLines&) = delete;
  TranscriptLines& operator=(const TranscriptLines&) = delete;

  /// How many of the files were done by an earlier process.
  int64_t num_done_before() const { return num_before_; }
  /// Of these, how many were left out.
  int64_t num_left_out_before() const;
  /// Whether the work of an earlier process was dropped, because its recordings or its options were
  /// others.
  bool has_begun_anew() const { return has_begun_anew_; }
  /// Adds the lines of the next file. problem: why it was left out, or "".
  void add(const std::string& lines, const std::string& problem);
  /// Writes what was added. Errors: [io/write].
  void flush();
  /// False when the reader of standard output has ended.
  bool is_open() const { return pipe_.is_open(); }
  /// The partial file; "" for standard output and other streams.
  const std::string& partial_path() const { return partial_path_; }
  /// The file is complete, and gets its name. Errors: [io/write].
  void finish();

 private:
  void begin_part(const std::string& output, uint64_t job);

  const std::vector<std::string>& files_;
  std::string partial_path_, waiting_;
  std::unique_ptr<convert::PartFile> part_;
  std::unique_ptr<AtomicFile> stream_;  // a pipe or a terminal that was named
  PipeOutput pipe_;
  OutputEscaper escaper_;
  int64_t num_before_ = 0;
  bool has_begun_anew_ = false;
};

}  // namespace s2s::run
