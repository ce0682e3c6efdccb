#pragma once
// A folder that gets its final name only when it is complete.

#include <filesystem>

namespace s2s::synth {

/// Creates NAME.partial-PID next to NAME. The destructor removes it unless `commit` renamed it.
/// Also removes such folders of dead processes.
class PartialFolder {
 public:
  /// Errors: [io/write].
  explicit PartialFolder(std::filesystem::path name);
  ~PartialFolder();
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  const std::filesystem::path& path() const { return partial_; }
  /// Errors: [io/write] if NAME was created in the meantime.
  void commit();

 private:
  std::filesystem::path name_;
  std::filesystem::path partial_;
  bool committed_ = false;
};

}  // namespace s2s::synth
