#pragma once
// What reading one foreign file may take: in proportion to the bytes of the file, never to a number
// that stands in it.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace s2s {

/// The readers of one file or folder share one budget, also those of files inside it (an archive,
/// the pickle in it, the tensors that the pickle describes). Each charges its work before it does
/// it. Not thread-safe.
class ReadingBudget {
 public:
  // Of a file of any size; small files are allowed as much as a program of this size takes anyway.
  static constexpr uint64_t kAnyValues = 1'000'000;
  static constexpr uint64_t kAnyBytes = uint64_t{256} << 20;
  static constexpr double kAnySeconds = 60;
  // And for each byte of the file that is read.
  static constexpr uint64_t kValuesPerByte = 4;
  static constexpr uint64_t kBytesPerByte = 100;
  static constexpr double kBytesPerSecond = 20e6;
  /// A read may go on for so long after ^C; a longer one ends.
  static constexpr double kInterruptedSeconds = 2;

  using Clock = std::chrono::steady_clock;

  /// `path`: for messages. `begin`: when the reading began.
  explicit ReadingBudget(std::string path, Clock::time_point begin = Clock::now());
  /// The same budget for another file of the folder: `path` is for its messages.
  ReadingBudget of_file(std::string path) const { return {std::move(path), spent_}; }

  /// Tells that `bytes` more bytes of the file are read; they raise every limit.
  void admit(uint64_t bytes);
  /// Charges values that are made or looked at. Errors: [io/too-much], and those of keep_time.
  void take_values(uint64_t count);
  /// Charges bytes of content that are unpacked, skipped or copied. Errors: as take_values.
  void take_bytes(uint64_t count);
  /// Errors: [io/too-much] when the time is over, [io/interrupted] after ^C.
  void keep_time();

  /// Most bytes of content of what is admitted so far.
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
