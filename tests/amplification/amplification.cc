// usage: amplification [READER]     exit code 1 when a reader takes more than its limit
//
// What each reader of foreign bytes takes, at its worst, in bytes of heap memory and in time for
// each byte of its file. Prints the table of core/docs/internals/safety_tests.md.

#include <time.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>

#include "amplification/heap.h"
#include "amplification/reader.h"
#include "common/temporary_folder.h"

namespace {

using namespace s2s::test;

constexpr size_t kBytes = 4'000'000;
/// Limits are absolute for small files: 200,000 values of a configuration take this.
constexpr int64_t kAnyBytes = int64_t{96} << 20;
constexpr double kMostBytesPerByte = 16;
/// Double the bytes may take so many times as long, and some noise of a busy machine: a reader
/// that is quadratic takes seconds here.
constexpr double kMostGrowth = 3;
constexpr double kNoiseS = 0.5;

struct Cost {
  double seconds = 0;
  int64_t peak = 0;
  bool is_refused = false;
};

double processor_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Cost measure(const Reader& reader, const std::string& bytes) {
  const TemporaryFolder folder;
  const std::string path = folder.write(reader.file_name, bytes);
  Cost cost;
  start_heap_peak();
  const double begin = processor_s();
  try {
    reader.read(path, bytes);
  } catch (const std::exception&) {
    cost.is_refused = true;
  }
  cost.seconds = processor_s() - begin;
  cost.peak = heap_peak();
  return cost;
}

/// Prints a row. Returns true when it is within its limits.
bool check(const Reader& reader, const Shape& shape) {
  const std::string small = shape.make(kBytes);
  const std::string large = shape.make(2 * kBytes);
  const Cost first = measure(reader, small);
  const Cost second = measure(reader, large);
  // Above a limit of bytes, the smaller file is the one that costs.
  const bool is_first = first.peak > second.peak;
  const Cost& worst = is_first ? first : second;
  const auto bytes = static_cast<double>(is_first ? small.size() : large.size());
  const double most =
      reader.excuse.bytes_per_byte > 0 ? reader.excuse.bytes_per_byte : kMostBytesPerByte;
  const bool is_small =
      !is_heap_counted() || static_cast<double>(worst.peak) <= kAnyBytes + most * bytes;
  const bool is_fast = second.seconds <= kMostGrowth * first.seconds + kNoiseS;
  std::printf("| %s | %s | %.1f | %s | %.0f | %.1f | %.0f |%s%s\n", reader.name.c_str(),
              shape.name.c_str(), bytes / 1e6, worst.is_refused ? "refused" : "read",
              static_cast<double>(worst.peak) / 1e6, static_cast<double>(worst.peak) / bytes,
              1e9 * worst.seconds / bytes, is_small ? "" : " TOO MUCH MEMORY",
              is_fast ? "" : " NOT IN PROPORTION");
  std::fflush(stdout);
  return is_small && is_fast;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string asked = argc > 1 ? argv[1] : "";
  bool is_good = true;
  int count = 0;
  if (!is_heap_counted()) std::printf("the heap is not counted under a sanitizer\n");
  std::printf(
      "| reader | file | MB | | peak MB | bytes per byte | ns per byte |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const auto& readers : {text_readers(), model_readers(), data_readers()}) {
    for (const Reader& reader : readers) {
      if (!asked.empty() && reader.name != asked) continue;
      for (const Shape& shape : reader.shapes) {
        is_good = check(reader, shape) && is_good;
        ++count;
      }
    }
  }
  std::printf("%s: %d files\n", is_good ? "ok" : "too much", count);
  return is_good && count > 0 ? 0 : 1;
}
