#pragma once
// The file run-ID.wandb: records in LevelDB's log format.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "record_file.h"

namespace s2s::trackers {

/// A record and the position in the file at which it ends.
struct WandbRecord {
  std::string data;
  size_t end = 0;
};

/// The records of a file up to the first that is not complete or has a wrong checksum. Empty for a
/// file with another header.
std::vector<WandbRecord> wandb_records(std::string_view file);

/// Calls `visit` with these records of a file until it returns false. A block and a record are in
/// memory. No file has no records. Errors: std::system_error with the path.
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
