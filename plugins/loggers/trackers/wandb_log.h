#pragma once
// The file run-ID.wandb: records in LevelDB's log format.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "record_file.h"

namespace s2s::trackers {

/// A record and the position in the file at which it ends.
struct WandbRecord {
  std::string data;
  size_t end = 0;
};

/// Calls `visit` with the records of a file, until it returns false or a record is incomplete or
/// has a wrong checksum. A missing file or one with another header has no records. Only a block and
/// a record are in memory. Errors: std::system_error with the path.
void visit_wandb_records(const std::string& path,
                         const std::function<bool(const WandbRecord&)>& visit);

/// Appends records. Blocks of 32768 bytes hold parts of records, each with a CRC-32, a length and a
/// type. Source: wandb/sdk/internal/datastore.py and LevelDB's doc/log_format.md.
class WandbLog {
 public:
  /// Continues the file after its first `end` bytes, which end with a record; 0: begins it. Errors:
  /// std::system_error with the path.
  WandbLog(const std::string& path, size_t end, double flush_secs);
  void append(std::string_view record);
  void flush() { file_->flush(); }

 private:
  void append_part(std::string_view part, int type);
  std::unique_ptr<RecordFile> file_;
  size_t position_ = 0;
};

}  // namespace s2s::trackers
