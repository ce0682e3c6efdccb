#pragma once
// Limits what reading an untrusted file may cost. The limit is proportional to the size of the file
// and never depends on a number in the file.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace s2s {

/// All readers of a file or folder share one budget, including readers of files inside it (an
/// archive, the pickle in it, the tensors in the pickle). Each reader charges its work in advance.
/// Not thread-safe.
class ReadingBudget {
 public:
  // Allowed for a file of any size. A program of this size needs as much anyway.
  static constexpr uint64_t kAnyValues = 1'000'000;
  static constexpr uint64_t kAnyBytes = uint64_t{256} << 20;
  static constexpr double kAnySeconds = 60;
  // Allowed in addition for each byte of the file that is read.
  static constexpr uint64_t kValuesPerByte = 4;
  static constexpr uint64_t kBytesPerByte = 100;
  static constexpr double kBytesPerSecond = 20e6;
  /// After ^C a read may continue for this long; then it ends with an error.
  static constexpr double kInterruptedSeconds = 2;

  using Clock = std::chrono::steady_clock;

  /// `path` is for messages, `begin` the time at which the reading began.
  explicit ReadingBudget(std::string path, Clock::time_point begin = Clock::now());
  /// Returns the same budget for another file of the folder; `path` is for its messages.
  ReadingBudget of_file(std::string path) const { return {std::move(path), spent_}; }

  /// Says that `bytes` more bytes of the file are read, which raises all limits.
  void admit(uint64_t bytes);
  /// Charges values that are made or inspected. Errors: [io/too-much], and those of keep_time.
  void take_values(uint64_t count);
  /// Charges bytes of content that are unpacked, skipped or copied. Errors: as take_values.
  void take_bytes(uint64_t count);
  /// Errors: [io/too-much] when the time is over, [io/interrupted] after ^C.
  void keep_time();

  /// Maximum bytes of content for the bytes admitted so far.
  uint64_t most_bytes() const;
  uint64_t most_values() const;
  double most_seconds() const;
  const std::string& path() const { return path_; }

 private:
  struct Spent {
    Clock::time_point begin;
    uint64_t admitted = 0, values = 0, bytes = 0, since_clock = 0;
  };
  ReadingBudget(std::string path, std::shared_ptr<Spent> spent)
      : path_(std::move(path)), spent_(std::move(spent)) {}
  void tick(uint64_t count);

  std::string path_;
  std::shared_ptr<Spent> spent_;
};

}  // namespace s2s
