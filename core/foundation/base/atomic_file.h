#pragma once
// Files that appear completely or not at all, whatever happens while they are written.

#include <cstddef>
#include <string>
#include <string_view>

namespace s2s {

/// Writes a partial file in the folder of `path` and gives it that name on `commit`. Without a
/// commit, the old file at `path` remains and the partial file is removed. A process that is killed
/// leaves its partial file, `.NAME.s2s-XXXXXX`, for remove_partial_files. A terminal, /dev/stdout
/// or a named pipe at `path` is written directly.
/// Errors: [io/write] with the system's reason, for example a full disk; [io/write] also for a disk
/// or a socket at `path`.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t num_bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// The partial file, for another program that writes it instead of `write`; "" for a stream.
  const std::string& temporary() const { return temporary_; }
  /// Writes everything to the disk, renames the file, and writes the folder's new entry to the
  /// disk.
  void commit();

 private:
  std::string path_;
  std::string temporary_;  // "": `path` is written directly
  int file_ = -1;
  int lock_ = -1;  // a second descriptor, which holds the lock until the partial file has its name
};

/// Writes a whole file. Errors: [io/write].
void write_file_atomically(const std::string& path, std::string_view text);

/// Removes from a folder the partial files of processes that have ended. Files that are being
/// written have a lock (flock) and are kept. If the file system has no locks, nothing is removed.
void remove_partial_files(const std::string& folder);

/// Creates a folder and its parents, and waits until the names of all new folders are on the disk.
/// Errors: [io/write].
void make_folders(const std::string& path);

/// Waits until a file's or a folder's content is on the disk. Errors: [io/write].
void sync_to_disk(const std::string& path);

/// Renames a file or folder, replacing a file or an empty folder, and waits until the new name is
/// on the disk. Errors: [io/write].
void rename_durably(const std::string& from, const std::string& to);

}  // namespace s2s
