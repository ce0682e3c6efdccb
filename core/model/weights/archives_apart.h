#pragma once
// Archives in parser processes (base/parser_process.h).

#include <cstdint>
#include <functional>
#include <string>

#include "base/reading_budget.h"

namespace s2s {

/// A member of a tar archive. Units: bytes.
struct PackedMember {
  bool is_plain = false;  // `begin` is its place in the archive
  uint64_t begin = 0;
  uint64_t size = 0;
};

/// Finds the member in the open archive `file`, and writes that of a compressed one to the file
/// that `unpacked` opens. Errors: those of open_archive_member.
PackedMember find_packed_member(int file, const std::string& name, ReadingBudget& budget,
                                const std::function<int()>& unpacked);
/// The same in a parser process.
PackedMember find_packed_member_apart(const std::string& path, int file, const std::string& name,
                                      int unpacked);

}  // namespace s2s
