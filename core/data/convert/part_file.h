#pragma once
// A file of lines that is written in pieces and is not there before it is whole.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace s2s::convert {

/// How far a conversion is; kept beside the part.
struct PartState {
  uint64_t fingerprint = 0;  // of the source's names and the options
  uint64_t source = 0;       // of what the pieces were made of
  int64_t pieces = 0;        // that are done, bad ones included
  int64_t cuts = 0;
  int64_t without_turns = 0;         // cuts
  double seconds = 0;                // of the cuts
  int64_t bytes = 0;                 // of the part
  std::vector<std::string> skipped;  // messages of bad pieces
};

/// "OUT.part" while it grows, with "OUT.part.json" beside it. A path that ends in ".gz" is written
/// as gzip, a member for each stretch.
class PartFile {
 public:
  /// Goes on with a part of the same fingerprint; begins anew otherwise.
  /// Errors: [data/convert-exists] when another process writes it, [io/write].
  PartFile(const std::string& path, uint64_t fingerprint);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  PartState& state() { return state_; }
  /// Drops what is there. Errors: [io/write].
  void begin_anew();
  /// Each line that is there from before. Errors: [io/write] when it cannot be read.
  void for_each_line(const std::function<void(const std::string&)>& take) const;
  void append(const std::string& lines) { waiting_ += lines; }
  size_t num_waiting_bytes() const { return waiting_.size(); }
  /// Puts lines and state on the disk; a later part goes on from here. Errors: [io/write].
  void checkpoint();
  /// Removes part and state.
  void discard();
  /// The part takes its final name. Errors: [io/write].
  void commit();

 private:
  void read_state(uint64_t fingerprint);
  void write(const std::string& bytes);

  std::string path_;
  std::string part_;
  bool gzip_;
  int file_ = -1;
  PartState state_;
  std::string waiting_;
};

/// Removes the state beside a result at `path` that a conversion left which was killed when all
/// else was done; not while there is a part.
void forget_finished_part(const std::string& path);

}  // namespace s2s::convert
