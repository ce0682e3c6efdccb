#pragma once
// The processes that ParserProcess uses: the starter, and the processes that it forks.

#include <cstdint>

#include "base/parser_process.h"

namespace s2s {

/// A message to the starter. The stream and the files come with it (SCM_RIGHTS).
struct ParserOrder {
  ForeignParser parse = nullptr;
  ParserLimits limits;
};
inline constexpr int kMostParserFiles = 3;

/// The first byte of an answer; its size and its bytes follow. `kTime`, `kForbidden` and `kCrash`
/// are followed by a number of 8 bytes: 0, the system call, or the signal.
enum class ParserStatus : char {
  kDone = 'd',
  kError = 'e',   // exit code, id, message
  kReason = 'r',  // the text of another exception
  kMemory = 'm',
  kTime = 't',
  kForbidden = 'f',
  kCrash = 'c',
};

/// Receives orders from `control` until it is closed. Never returns.
[[noreturn]] void start_parsers(int control);

}  // namespace s2s
