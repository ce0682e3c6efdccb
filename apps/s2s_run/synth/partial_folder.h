#pragma once
// A folder that appears under its name only when everything in it is there.

#include <filesystem>

namespace s2s::synth {

/// Makes NAME.partial-PID beside NAME; removes it unless `commit` renamed it. Folders that dead
/// processes left behind are removed as well.
class PartialFolder {
 public:
  /// Errors: [synth/write].
  explicit PartialFolder(std::filesystem::path name);
  ~PartialFolder();
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  const std::filesystem::path& path() const { return partial_; }
  /// Errors: [synth/write] when NAME came into being meanwhile.
  void commit();

 private:
  std::filesystem::path name_;
  std::filesystem::path partial_;
  bool committed_ = false;
};

}  // namespace s2s::synth
