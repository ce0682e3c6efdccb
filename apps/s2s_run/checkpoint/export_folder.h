#pragma once
// The folder that checkpoint export writes.

#include <string>

namespace s2s::run {

class ExportFolder {
 public:
  /// Makes it. Errors: [io/exists] when it holds a model, unless `force` or that is of an export
  /// that was killed; for a checkpoint of a run in any case; [io/write].
  ExportFolder(const std::string& path, bool force);
  /// Without `finish`: removes a folder in which nothing was written.
  ~ExportFolder();
  ExportFolder(const ExportFolder&) = delete;
  ExportFolder& operator=(const ExportFolder&) = delete;

  /// Everything is written. Without it, the next export may write over this one.
  void finish();

 private:
  std::string path_, mark_;
};

}  // namespace s2s::run
