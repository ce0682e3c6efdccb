#pragma once
// A folder that gets its final name only when it is complete.

#include <filesystem>
#include <string>

#include "s2s_run/synth/synth_errors.h"

namespace s2s::synth {

/// Creates NAME.partial-PID next to NAME. The destructor removes it unless `commit` renamed it.
/// Also removes such folders of dead processes.
class PartialFolder {
 public:
  using WriteError = Error (*)(const std::string& path, const std::string& reason);

  /// Errors: `write_error`; default: [synth/write].
  explicit PartialFolder(std::filesystem::path name, WriteError write_error = cannot_write);
  ~PartialFolder();
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  const std::filesystem::path& path() const { return partial_; }
  /// Errors: `write_error` when NAME was created in the meantime.
  void commit();

 private:
  std::filesystem::path name_;
  WriteError write_error_;
  std::filesystem::path partial_;
  bool committed_ = false;
};

}  // namespace s2s::synth
