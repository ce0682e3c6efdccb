#pragma once
// The bytes of heap memory of this process, whoever allocates them.

#include <cstdint>

namespace s2s::test {

/// False where the program's own malloc would not be called (sanitizers).
bool is_heap_counted();
/// From now on, heap_peak is the most that is allocated on top of what is allocated now.
void start_heap_peak();
int64_t heap_peak();

}  // namespace s2s::test
