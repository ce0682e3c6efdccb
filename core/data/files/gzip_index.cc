#include "files/gzip_index.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "base/fnv.h"
#include "files/files_errors.h"

namespace s2s::files {
namespace {

constexpr std::string_view kIndexMagic = "S2SGZIX1";
constexpr size_t kMaxWindowBytes = 32768;

struct Footer {
  uint64_t lines_bytes, windows_bytes, num_points;
  uint64_t compressed_bytes, fingerprint, content_bytes;
  std::array<char, 8> magic;
};
static_assert(sizeof(Footer) == 56);

std::string_view bytes_of(const auto& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

std::string deflated(const std::string& window) {
  std::string out(compressBound(window.size()), '\0');
  uLongf length = out.size();
  const int code =
      compress2(reinterpret_cast<Bytef*>(out.data()), &length,
                reinterpret_cast<const Bytef*>(window.data()), window.size(), Z_BEST_SPEED);
  S2S_ASSERT(code == Z_OK, "the output is large enough");
  out.resize(length);
  return out;
}

std::string inflated(std::string_view stored) {
  std::string window(kMaxWindowBytes, '\0');
  uLongf length = window.size();
  if (uncompress(reinterpret_cast<Bytef*>(window.data()), &length,
                 reinterpret_cast<const Bytef*>(stored.data()), stored.size()) != Z_OK) {
    throw std::runtime_error("a window of the index is damaged");
  }
  window.resize(length);
  return window;
}

void require(bool holds, const char* reason) {
  if (!holds) throw std::runtime_error(reason);
}

}  // namespace

GzipIndex GzipIndex::parse(std::shared_ptr<const void> owner, std::string_view bytes) {
  Footer footer;
  require(bytes.size() >= sizeof footer, "it is too short");
  std::memcpy(&footer, bytes.data() + bytes.size() - sizeof footer, sizeof footer);
  require(std::string_view(footer.magic.data(), footer.magic.size()) == kIndexMagic,
          "it has no footer");
  const uint64_t body = bytes.size() - sizeof footer;
  require(footer.lines_bytes <= body && footer.windows_bytes <= body - footer.lines_bytes &&
              footer.num_points <= body / sizeof(StoredPoint) &&
              footer.lines_bytes + footer.windows_bytes + footer.num_points * sizeof(StoredPoint) ==
                  body,
          "its parts do not fill it");
  constexpr uint64_t kLargest = uint64_t{1} << 62;
  require(footer.content_bytes < kLargest && footer.compressed_bytes < kLargest, "too large");
  GzipIndex index;
  index.owner_ = owner;
  index.windows_ = bytes.substr(footer.lines_bytes, footer.windows_bytes);
  index.points_ = index.windows_.data() + index.windows_.size();
  index.num_points_ = static_cast<int64_t>(footer.num_points);
  index.compressed_bytes_ = static_cast<int64_t>(footer.compressed_bytes);
  index.fingerprint_ = footer.fingerprint;
  index.content_bytes_ = static_cast<int64_t>(footer.content_bytes);
  require(index.num_points_ > 0 && index.stored(0).out == 0,
          "its first point is not the beginning");
  constexpr uint64_t kMostPerByte = 1100;  // deflate's limit is 1032
  require(footer.content_bytes / kMostPerByte <= footer.compressed_bytes,
          "its content is too long");
  for (int64_t i = 1; i < index.num_points_; ++i) {
    require(index.stored(i).out > index.stored(i - 1).out, "its points do not grow");
  }
  require(index.stored(index.num_points_ - 1).out <= footer.content_bytes, "a point is outside");
  const std::string_view lines = bytes.substr(0, footer.lines_bytes);
  if (!lines.empty()) {
    const auto problem = index_problem(lines, index.content_bytes_, IndexEnd::kExact);
    require(!problem, "its offsets of lines are damaged");
    index.lines_ = OffsetIndex(owner, lines);
  }
  return index;
}

GzipIndex::StoredPoint GzipIndex::stored(int64_t i) const {
  StoredPoint point;
  std::memcpy(&point, points_ + static_cast<size_t>(i) * sizeof point, sizeof point);
  return point;
}

int64_t GzipIndex::block_begin(int64_t i) const {
  return i == num_points_ ? content_bytes_ : static_cast<int64_t>(stored(i).out);
}

int64_t GzipIndex::block_of(int64_t offset) const {
  int64_t low = 0;
  int64_t high = num_points_;  // the first block that begins after `offset` is in (low, high]
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (block_begin(middle) <= offset ? low : high) = middle;
  }
  return low;
}

GzipPoint GzipIndex::point(int64_t i) const {
  const StoredPoint stored_point = stored(i);
  const uint64_t begin = stored_point.window_begin;
  const uint64_t length = stored_point.window_bytes;
  require(stored_point.in <= static_cast<uint64_t>(compressed_bytes_) && stored_point.bits <= 7 &&
              stored_point.bits >= GzipPoint::kMemberStart &&
              (stored_point.bits <= 0 || stored_point.in > 0) && begin <= windows_.size() &&
              length <= windows_.size() - begin,
          "a point of the index is damaged");
  GzipPoint point;
  point.in = static_cast<int64_t>(stored_point.in);
  point.out = static_cast<int64_t>(stored_point.out);
  point.bits = stored_point.bits;
  if (length > 0) point.window = inflated(windows_.substr(begin, length));
  return point;
}

uint64_t file_fingerprint(const DiskFile& file) {
  const auto edge = static_cast<size_t>(std::min<int64_t>(file.size(), 4096));
  const uint64_t first = fnv1a(file.read_text(0, edge), fnv1a(std::to_string(file.size())));
  return fnv1a(file.read_text(file.size() - static_cast<int64_t>(edge), edge), first);
}

/// Reads a file once and collects its index.
class GzipIndexMaker {
 public:
  GzipIndexMaker(const DiskFile& file, bool with_lines, int64_t block_bytes,
                 std::function<void(std::string_view)> append)
      : file_(file),
        stream_(file),
        lines_(append),
        append_(std::move(append)),
        with_lines_(with_lines),
        block_bytes_(block_bytes) {}

  void run(const OpenOptions& options) {
    add_point(GzipPoint{0, 0, GzipPoint::kMemberStart, ""});
    int64_t content_bytes = -1;
    try {
      while (!stream_.at_end()) step(options.on_progress);
    } catch (const std::runtime_error& error) {
      if (dynamic_cast<const Error*>(&error) != nullptr) throw;
      const Error damage =
          with_lines_ ? files_errors::gzip(file_.name(), num_line_ends_, error.what())
                      : files_errors::gzip_bytes(file_.name(), stream_.out(), error.what());
      if (!options.on_damage) throw damage;
      options.on_damage(damage);
      content_bytes = with_lines_ ? last_line_end_ : stream_.out();
    }
    finish(content_bytes < 0 ? stream_.out() : content_bytes);
  }

 private:
  void step(const std::function<void(const IndexProgress&)>& on_progress) {
    const int64_t begin = stream_.out();
    // Each line takes an offset, and a compressed file may have a thousand times as many lines as
    // bytes.
    const int64_t most_bytes = std::max(kContentBytes, file_.size() * kMostRatio);
    if (with_lines_ && begin + lines_.count() * 8 > most_bytes) {
      throw files_errors::too_much_content(file_.name(), file_.size(), most_bytes);
    }
    size_t got = 0;
    try {
      got = stream_.read(buffer_.data(), buffer_.size(), true);
    } catch (...) {
      note_lines(begin, static_cast<size_t>(stream_.out() - begin));
      throw;
    }
    note_lines(begin, got);
    if (stream_.out() - points_.back().out >= static_cast<uint64_t>(block_bytes_) &&
        stream_.at_point()) {
      add_point(stream_.point());
      if (on_progress) on_progress({file_.name(), stream_.in(), file_.size()});
    }
  }

  void note_lines(int64_t begin, size_t num_bytes) {
    if (!with_lines_ || num_bytes == 0) return;
    const char* at = buffer_.data();
    const char* const end = at + num_bytes;
    while (at < end) {
      if (at_line_start_) lines_.add(begin + (at - buffer_.data()));
      const void* const found = std::memchr(at, '\n', static_cast<size_t>(end - at));
      at_line_start_ = found != nullptr;
      at = at_line_start_ ? static_cast<const char*>(found) + 1 : end;
      num_line_ends_ += at_line_start_ ? 1 : 0;
      if (at_line_start_) last_line_end_ = begin + (at - buffer_.data());
    }
  }

  void add_point(const GzipPoint& point) {
    const std::string window = point.window.empty() ? "" : deflated(point.window);
    points_.push_back({static_cast<uint64_t>(point.in), static_cast<uint64_t>(point.out),
                       windows_.size(), static_cast<uint32_t>(window.size()), point.bits});
    windows_ += window;
  }

  void finish(int64_t content_bytes) {
    if (with_lines_) {
      // A truncated line was added; its begin is the end of the content.
      if (at_line_start_ || content_bytes == stream_.out()) lines_.add(content_bytes);
      lines_.flush();
    }
    while (points_.size() > 1 && points_.back().out >= static_cast<uint64_t>(content_bytes)) {
      points_.pop_back();
    }
    append_(windows_);
    for (const auto& point : points_) append_(bytes_of(point));
    Footer footer = {};
    footer.lines_bytes = with_lines_ ? static_cast<uint64_t>(lines_.count()) * 8 : 0;
    footer.windows_bytes = windows_.size();
    footer.num_points = points_.size();
    footer.compressed_bytes = static_cast<uint64_t>(file_.size());
    footer.fingerprint = file_fingerprint(file_);
    footer.content_bytes = static_cast<uint64_t>(content_bytes);
    std::copy(kIndexMagic.begin(), kIndexMagic.end(), footer.magic.begin());
    append_(bytes_of(footer));
  }

  const DiskFile& file_;
  GzipStream stream_;
  OffsetWriter lines_;
  std::function<void(std::string_view)> append_;
  bool with_lines_;
  int64_t block_bytes_;
  std::string buffer_ = std::string(size_t{1} << 18, '\0');
  std::string windows_;
  std::vector<GzipIndex::StoredPoint> points_;
  bool at_line_start_ = true;
  int64_t num_line_ends_ = 0;
  int64_t last_line_end_ = 0;
};

void make_gzip_index(const DiskFile& file, bool with_lines, int64_t block_bytes,
                     const OpenOptions& options,
                     const std::function<void(std::string_view)>& append) {
  GzipIndexMaker(file, with_lines, block_bytes, append).run(options);
}

}  // namespace s2s::files
