#include "files/line_file.h"

#include <algorithm>
#include <cstring>

#include "base/atomic_file.h"
#include "files/files_errors.h"
#include "files/gzip_index.h"
#include "files/json_values.h"
#include "files/open_bytes.h"

namespace s2s::files {
namespace {

/// Smaller files are scanned each time; they get no index on the disk.
constexpr int64_t kSmallFileBytes = int64_t{1} << 20;

OffsetIndex index_in_memory(const ByteFile& file) {
  auto bytes = std::make_shared<std::string>();
  OffsetWriter offsets([&](std::string_view more) { bytes->append(more); });
  make_line_index(file, offsets, {});
  return {bytes, *bytes};
}

/// Whether some sampled lines begin after a line end.
bool begins_lines(const DiskFile& file, const OffsetIndex& index) {
  constexpr int64_t kLooks = 16;
  if (index.size() > 0 && index.begin(0) != 0) return false;
  for (int64_t i = 1; i <= kLooks; ++i) {
    const int64_t begin = index.begin(index.size() * i / (kLooks + 1));
    if (begin < 0 || begin > file.size()) return false;
    if (begin > 0 && file.read_text(begin - 1, 1) != "\n") return false;
  }
  return true;
}

std::shared_ptr<const LineFile> open_plain(std::shared_ptr<const DiskFile> file,
                                           const OpenOptions& options) {
  auto index = find_index(*file, IndexEnd::kExact,
                          [&](const OffsetIndex& found) { return begins_lines(*file, found); });
  if (!index && file->size() < kSmallFileBytes) index = index_in_memory(*file);
  if (!index) {
    const auto bytes = write_index(*file, ".idx", options.place, [&](const auto& append) {
      OffsetWriter offsets(append);
      make_line_index(*file, offsets, options.on_progress);
    });
    index = OffsetIndex(bytes, bytes->bytes());
  }
  return std::make_shared<LineFile>(std::move(file), std::move(*index));
}

void remove_line_end(std::string& line) {
  if (!line.empty() && line.back() == '\n') line.pop_back();
  if (!line.empty() && line.back() == '\r') line.pop_back();
}

}  // namespace

void make_line_index(const ByteFile& file, OffsetWriter& offsets,
                     const std::function<void(const IndexProgress&)>& on_progress) {
  constexpr int64_t kChunkBytes = int64_t{1} << 20;
  constexpr int64_t kProgressBytes = int64_t{1} << 26;
  std::string chunk;
  bool at_line_start = true;
  for (int64_t begin = 0; begin < file.size(); begin += kChunkBytes) {
    const auto length = static_cast<size_t>(std::min(kChunkBytes, file.size() - begin));
    chunk.resize(length);
    file.read(begin, chunk.data(), length);
    for (size_t at = 0; at < length;) {
      if (at_line_start) offsets.add(begin + static_cast<int64_t>(at));
      const void* const end = std::memchr(chunk.data() + at, '\n', length - at);
      at_line_start = end != nullptr;
      at = at_line_start ? static_cast<size_t>(static_cast<const char*>(end) - chunk.data()) + 1
                         : length;
    }
    if (on_progress && begin % kProgressBytes == 0) {
      on_progress({file.name(), begin + static_cast<int64_t>(length), file.size()});
    }
  }
  offsets.add(file.size());
  offsets.flush();
}

void write_line_index(const std::string& path) {
  const DiskFile file(path, "a text file to make an index of");
  AtomicFile index(path + ".idx");
  OffsetWriter offsets([&](std::string_view bytes) { index.write(bytes); });
  make_line_index(file, offsets, {});
  index.commit();
}

std::string LineFile::lines(int64_t first, int64_t last) const {
  const int64_t begin = lines_.begin(first);
  const int64_t end = lines_.begin(last);
  if (begin < 0 || begin > end || end > bytes_->size()) {
    throw files_errors::index(path(), first, "the index points outside of the file");
  }
  const auto num_bytes = static_cast<size_t>(end - begin);
  if (num_bytes > kMostLineBytes) throw files_errors::long_line(path(), first);
  return bytes_->read_text(begin, num_bytes);
}

std::string LineFile::line(int64_t row) const {
  std::string line = lines(row, row + 1);
  const size_t end = line.find('\n');
  if (end != std::string::npos ? end + 1 != line.size() : row + 1 != size()) {
    throw files_errors::index(path(), row, "the index does not fit the file");
  }
  remove_line_end(line);
  return line;
}

void LineCursor::fill() {
  constexpr int64_t kBufferBytes = int64_t{1} << 17;
  constexpr int64_t kMostRows = 4096;
  first_ = row_;
  last_ = row_ + 1;
  const int64_t begin = file_->offset(row_);
  while (last_ < file_->size() && last_ - first_ < kMostRows &&
         file_->offset(last_ + 1) - begin <= kBufferBytes) {
    ++last_;
  }
  buffer_ = file_->lines(first_, last_);
}

bool LineCursor::next(std::string& line) {
  if (row_ >= file_->size()) return false;
  if (row_ >= last_) fill();
  const auto begin = static_cast<size_t>(file_->offset(row_) - file_->offset(first_));
  const auto end = static_cast<size_t>(file_->offset(row_ + 1) - file_->offset(first_));
  if (begin >= end || end > buffer_.size() ||
      (row_ + 1 < file_->size() && buffer_[end - 1] != '\n')) {
    throw files_errors::index(file_->path(), row_, "the index does not fit the file");
  }
  line.assign(buffer_, begin, end - begin);
  remove_line_end(line);
  ++row_;
  return true;
}

std::shared_ptr<const LineFile> open_line_file(const std::string& source,
                                               const OpenOptions& options,
                                               const std::string& expected) {
  std::shared_ptr<const ByteFile> bytes =
      open_bytes(source, options, expected, /*with_lines=*/true);
  if (auto lines = json_values_as_lines(*bytes)) {
    OffsetIndex index = index_in_memory(*lines);
    return std::make_shared<LineFile>(std::move(lines), std::move(index));
  }
  if (auto plain = std::dynamic_pointer_cast<const DiskFile>(bytes)) {
    return open_plain(std::move(plain), options);
  }
  if (auto gzip = std::dynamic_pointer_cast<const GzipFile>(bytes)) {
    OffsetIndex lines = gzip->lines();
    return std::make_shared<LineFile>(std::move(gzip), std::move(lines));
  }
  OffsetIndex lines = index_in_memory(*bytes);
  return std::make_shared<LineFile>(std::move(bytes), std::move(lines));
}

}  // namespace s2s::files
