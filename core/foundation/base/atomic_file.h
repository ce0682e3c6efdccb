#pragma once
// Files that are there entirely or not at all, whatever happens while they are written.

#include <cstddef>
#include <string>
#include <string_view>

namespace s2s {

/// Writes beside `path` (same folder, another name) and takes its place on `commit`. Without a
/// commit, what was at `path` stays and the partial file beside it is removed. A process that is
/// killed leaves the partial file, `.NAME.s2s-XXXXXX`, for remove_partial_files. A terminal,
/// /dev/stdout or a named pipe at `path` is written as it is, and stays one. Errors: [io/write]
/// with the system's reason, for example a full disk; [io/write] also for a disk or a socket.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t num_bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// The file beside `path`, for another program to write in place of `write`; "" for a stream.
  const std::string& temporary() const { return temporary_; }
  /// Puts everything on the disk, renames, and puts the folder's new entry on the disk.
  void commit();

 private:
  std::string path_;
  std::string temporary_;  // "": `path` itself is written
  int file_ = -1;
  int lock_ = -1;  // a second descriptor, which holds the lock until the partial file has its name
};

/// The whole file at once. Errors: [io/write].
void write_file_atomically(const std::string& path, std::string_view text);

/// Removes the partial files of AtomicFiles of processes that have ended from a folder; those that
/// somebody writes just now hold a lock (flock) and stay. Where the file system has no locks
/// nothing goes.
void remove_partial_files(const std::string& folder);

/// Makes a folder and those above it, and waits until the names of all that were made are on the
/// disk. Errors: [io/write].
void make_folders(const std::string& path);

/// Waits until a file's or a folder's content is on the disk. Errors: [io/write].
void sync_to_disk(const std::string& path);

/// Renames a file or folder in place of what may be there (an empty folder or a file), and waits
/// until the new name is on the disk. Errors: [io/write].
void rename_durably(const std::string& from, const std::string& to);

}  // namespace s2s
