#pragma once
// The two processes behind ParserProcess: the starter, and those that it forks.

#include <cstdint>

#include "base/parser_process.h"

namespace s2s {

/// A message to the starter. The stream and the files come beside it (SCM_RIGHTS).
struct ParserOrder {
  ForeignParser parse = nullptr;
  ParserLimits limits;
};
inline constexpr int kMostParserFiles = 3;

/// How an answer begins; its size and its bytes follow. `kTime`, `kForbidden` and `kCrash` have a
/// number of 8 bytes: nothing, the system call, the signal.
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
