#pragma once
// A folder that appears under its name only when everything in it is there.

#include <filesystem>
#include <string>

#include "s2s_run/synth/synth_errors.h"

namespace s2s::synth {

/// Makes NAME.partial-PID beside NAME; removes it unless `commit` renamed it. Folders that dead
/// processes left behind are removed as well.
class PartialFolder {
 public:
  using WriteError = Error (*)(const std::string& path, const std::string& reason);

  /// Errors: `write_error`, [synth/write] without one.
  explicit PartialFolder(std::filesystem::path name, WriteError write_error = cannot_write);
  ~PartialFolder();
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  const std::filesystem::path& path() const { return partial_; }
  /// Errors: `write_error` when NAME came into being meanwhile.
  void commit();

 private:
  std::filesystem::path name_;
  WriteError write_error_;
  std::filesystem::path partial_;
  bool committed_ = false;
};

}  // namespace s2s::synth
