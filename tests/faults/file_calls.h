#pragma once
// Calls on files and names as they are counted, failed, logged and recorded. The arguments and
// results are those of the system calls; a folder is a descriptor or AT_FDCWD.

#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>

#include "faults/call_log.h"
#include "faults/fault_plan.h"

namespace s2s_faults {

int open_at(int folder, const char* path, int flags, mode_t mode);
/// The mode behind the flags of open, when it is there.
mode_t mode_of(int flags, va_list arguments);
/// fopen or fopen64, by its name.
FILE* open_stream(const char* name, const char* path, const char* mode);
/// mkostemp or mkostemp64, by its name.
int open_temporary(const char* name, char* pattern, int flags);
/// The call on what a descriptor points at; `path` becomes its path.
Verdict decide_on(CallClass kind, int file, char (&path)[kPathBytes]);
/// As many bytes as the verdict leaves.
size_t shortened(const Verdict& verdict, size_t count);
off_t position(int file);
/// read, or pread from 0 on; -1: where the file stands.
ssize_t read_at(int file, void* data, size_t count, off_t offset);
ssize_t write_at(int file, const void* data, size_t count, off_t offset);
/// SYS_fsync or SYS_fdatasync.
int sync_file(long call, int file);
int rename_at(int from_folder, const char* from, int to_folder, const char* to, unsigned flags);
int link_at(int from_folder, const char* from, int to_folder, const char* to, int flags);
int symlink_at(const char* target, int folder, const char* path);
int unlink_at(int folder, const char* path, int flags);
int mkdir_at(int folder, const char* path, mode_t mode);
void* map_file(void* where, size_t length, int protection, int flags, int file, off_t offset);
/// truncate, or ftruncate where `file` is one.
int cut(const char* path, off_t length, int file);

}  // namespace s2s_faults
