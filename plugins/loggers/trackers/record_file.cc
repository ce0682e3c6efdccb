#include "record_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "s2s/foreign_text.h"
#include "s2s/interrupted_calls.h"

namespace s2s::trackers {

namespace fs = std::filesystem;

namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;
constexpr size_t kMaxLineBytes = size_t{16} << 20;

[[noreturn]] void throw_system(const std::string& path) {
  throw std::system_error(errno, std::generic_category(), path);
}

int open_for(const std::string& path, int flags) {
  const fs::path parent = fs::path(path).parent_path();
  if (!parent.empty()) fs::create_directories(parent);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
  if (file < 0) throw_system(path);
  return file;
}

/// Returns false, with errno, when not all bytes could be written.
bool write_all(int file, std::string_view bytes) {
  InterruptedCalls interrupted;
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && interrupted.again()) continue;
    if (written < 0) return false;
    interrupted.reset();
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

void write_and_close(int file, const std::string& path, std::string_view bytes) {
  const bool is_written = write_all(file, bytes);
  const int reason = errno;
  const bool is_closed = close(file) == 0;
  if (!is_written) errno = reason;
  if (!is_written || !is_closed) throw_system(path);
}

}  // namespace

bool Timer::is_due() const {
  const auto since = std::chrono::steady_clock::now() - last_;
  return std::chrono::duration<double>(since).count() > period_s_;
}

RecordFile::RecordFile(std::string path, double flush_secs)
    : path_(std::move(path)), file_(open_for(path_, O_APPEND)), timer_(flush_secs) {}

RecordFile::~RecordFile() {
  write_all(file_, buffer_);
  close(file_);
}

void RecordFile::append(std::string_view bytes) {
  buffer_ += bytes;
  if (buffer_.size() > kBufferBytes || timer_.is_due()) flush();
}

void RecordFile::flush() {
  timer_.reset();
  const std::string bytes = std::exchange(buffer_, {});
  if (!write_all(file_, bytes)) throw_system(path_);
}

void append_to(const std::string& path, std::string_view bytes) {
  write_and_close(open_for(path, O_APPEND), path, bytes);
}

void replace_file(const std::string& path, std::string_view bytes) {
  const std::string partial = path + ".partial";
  write_and_close(open_for(partial, O_TRUNC), partial, bytes);
  fs::rename(partial, path);
}

std::string text_of_file(const std::string& path) {
  if (!fs::exists(path)) return "";
  return read_small_file(path);
}

InputFile::InputFile(std::string path)
    : path_(std::move(path)), file_(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (file_ < 0) throw_system(path_);
  struct stat status {};
  const bool is_known = fstat(file_, &status) == 0;
  if (!is_known || !S_ISREG(status.st_mode)) {
    const int reason = is_known ? EINVAL : errno;
    close(file_);
    errno = reason;
    throw_system(path_);
  }
  size_ = static_cast<size_t>(status.st_size);
}

InputFile::~InputFile() { close(file_); }

std::string_view InputFile::read(size_t at, size_t num_bytes) {
  if (at < block_at_ || at + num_bytes > block_at_ + block_.size()) {
    block_at_ = at;
    block_.resize(std::max(num_bytes, kBufferBytes));
    size_t length = 0;
    InterruptedCalls interrupted;
    while (length < block_.size()) {
      const ssize_t got = pread(file_, block_.data() + length, block_.size() - length,
                                static_cast<off_t>(at + length));
      if (got < 0 && interrupted.again()) continue;
      if (got < 0) throw_system(path_);
      if (got == 0) break;
      interrupted.reset();
      length += static_cast<size_t>(got);
    }
    block_.resize(length);
  }
  const std::string_view block = block_;
  return block.substr(std::min(at - block_at_, block.size()), num_bytes);
}

void visit_lines(const std::string& path, const std::function<bool(const std::string&)>& visit) {
  if (!fs::exists(path)) return;
  InputFile file(path);
  std::string line;
  for (size_t at = 0; at < file.size();) {
    std::string_view block = file.read(at, kBufferBytes);
    if (block.empty()) return;
    at += block.size();
    for (size_t end = block.find('\n'); end != std::string_view::npos; end = block.find('\n')) {
      line += block.substr(0, end);
      if (!visit(line)) return;
      line.clear();
      block.remove_prefix(end + 1);
    }
    line += block;
    if (line.size() <= kMaxLineBytes) continue;
    errno = EFBIG;
    throw_system(path);
  }
}

void rewrite_lines(const std::string& path, std::string_view begin,
                   const std::function<std::string(const std::string&)>& change) {
  const std::string partial = path + ".partial";
  fs::remove(partial);
  {
    RecordFile out(partial, std::numeric_limits<double>::infinity());
    out.append(begin);
    visit_lines(path, [&](const std::string& line) {
      out.append(change(line));
      return true;
    });
    out.flush();
  }
  fs::rename(partial, path);
}

std::string path_of_tag(std::string_view tag) {
  std::string path, part;
  const auto end_part = [&] {
    if (part.find_first_not_of('.') == std::string::npos) part = "_";
    path += (path.empty() ? "" : "/") + part;
    part.clear();
  };
  for (const char c : tag) {
    if (c == '/') {
      end_part();
    } else {
      const bool stays =
          std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
      part += stays ? c : '_';
    }
  }
  end_part();
  return path;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

std::string prefixed(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "-" + name;
}

double unix_time_s() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace s2s::trackers
