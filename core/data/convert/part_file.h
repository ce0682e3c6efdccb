#pragma once
// A file of lines that is written in pieces and appears when it is complete.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace s2s::convert {

/// Progress of a conversion, stored beside its partial result.
struct PartState {
  uint64_t fingerprint = 0;  // of the source's names and the options
  uint64_t source = 0;       // of what the finished pieces were made of
  int64_t pieces = 0;        // finished pieces, including bad ones
  int64_t cuts = 0;
  int64_t without_turns = 0;         // cuts
  double seconds = 0;                // total duration of the cuts
  int64_t bytes = 0;                 // size of the partial result
  std::vector<std::string> skipped;  // messages of bad pieces
};

/// The partial result "OUT.part" and its state "OUT.part.json". A path that ends in ".gz" is
/// written as gzip, with a member for each checkpoint.
class PartFile {
 public:
  /// Continues a partial result with the same fingerprint; otherwise begins a new one.
  /// Errors: [data/convert-exists] when another process writes it, [io/write].
  PartFile(const std::string& path, uint64_t fingerprint);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  PartState& state() { return state_; }
  /// Drops the partial result. Errors: [io/write].
  void begin_anew();
  /// Visits each line of the partial result that existed before. Errors: [io/write] when it cannot
  /// be read.
  void for_each_line(const std::function<void(const std::string&)>& take) const;
  void append(const std::string& lines) { waiting_ += lines; }
  size_t num_waiting_bytes() const { return waiting_.size(); }
  /// Writes lines and state to the disk. A later process continues from here. Errors: [io/write].
  void checkpoint();
  /// Removes the partial result and its state.
  void discard();
  /// Gives the partial result its final name. Errors: [io/write].
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

/// Removes the state of a finished result at `path`, which a conversion leaves if it is killed in
/// its last moment. Does nothing while there is a partial result.
void forget_finished_part(const std::string& path);

}  // namespace s2s::convert
