#pragma once
// What a program did to names (S2S_FAULTS_LOG) and to the disk (S2S_FAULTS_RECORD).

#include <sys/types.h>

#include <cstddef>

namespace s2s_faults {

constexpr size_t kPathBytes = 4096;

/// Writes the absolute form of `path` (below `folder`, a descriptor or AT_FDCWD) to `full`.
void absolute(char (&full)[kPathBytes], int folder, const char* path);
/// Writes the path behind a descriptor; "" when it has none on a disk.
void path_of(char (&full)[kPathBytes], int descriptor);

/// True when S2S_FAULTS_LOG is set.
bool is_logging();
/// Appends `KIND PID PATH [PATH2]` to the log.
void log_call(const char* kind, const char* path, const char* second = nullptr);

/// True when S2S_FAULTS_RECORD is set in a chosen process.
bool is_recording();
/// Appends a change of the disk, `length` bytes of `data` with it.
void record(const char* operation, const char* path, const char* second = "", off_t offset = 0,
            const void* data = nullptr, size_t length = 0);
/// The same, with the bytes read back from the file behind `descriptor`.
void record_written(int descriptor, const char* path, off_t offset, size_t length);

}  // namespace s2s_faults
