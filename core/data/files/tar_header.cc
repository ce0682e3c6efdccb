#include "files/tar_header.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/number_text.h"
#include "files/files_errors.h"

namespace s2s::files {
namespace {

constexpr size_t kBlock = static_cast<size_t>(kTarBlockBytes);
/// Limit of PAX records and long names, which are read into memory.
constexpr int64_t kMostRecordBytes = int64_t{1} << 20;

/// Reads the fields of a header block.
struct Block {
  std::array<char, kBlock> bytes;

  std::string_view field(size_t begin, size_t length) const { return {&bytes[begin], length}; }
  std::string text(size_t begin, size_t length) const {
    const std::string_view all = field(begin, length);
    return std::string(all.substr(0, std::min(all.find('\0'), all.size())));
  }
  char type() const { return bytes[156]; }
  bool is_zero() const {
    return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
  }
};

/// Parses an octal number, or a binary one if the first bit is set. Returns nothing if it is not a
/// number.
std::optional<int64_t> number(std::string_view field) {
  if ((static_cast<unsigned char>(field[0]) & 0x80) != 0) {
    /// A negative or huge number.
    if (static_cast<unsigned char>(field[0]) != 0x80) return std::nullopt;
    int64_t value = 0;
    for (const char c : field.substr(1)) {
      if (value >> 54 != 0) return std::nullopt;
      value = value << 8 | static_cast<unsigned char>(c);
    }
    return value;
  }
  const size_t begin = field.find_first_not_of(' ');
  if (begin == std::string_view::npos) return 0;
  const std::string_view digits = field.substr(begin);
  const size_t end = std::min(digits.find_first_of(std::string_view(" \0", 2)), digits.size());
  if (end == 0) return 0;
  const auto value = read_number<int64_t>(digits.substr(0, end), 8);
  return value && *value >= 0 ? value : std::nullopt;
}

bool has_good_checksum(const Block& block) {
  constexpr size_t kChecksum = 148;
  constexpr size_t kChecksumBytes = 8;
  int64_t as_unsigned = 0;
  int64_t as_signed = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const bool is_checksum = i >= kChecksum && i < kChecksum + kChecksumBytes;
    const char c = is_checksum ? ' ' : block.bytes[i];
    as_unsigned += static_cast<unsigned char>(c);
    as_signed += static_cast<signed char>(c);
  }
  const auto stored = number(block.field(kChecksum, kChecksumBytes));
  return stored && (*stored == as_unsigned || *stored == as_signed);
}

int64_t padded(int64_t num_bytes) {
  return (num_bytes + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
}

/// What PAX records and long names say about the next member.
struct Overrides {
  std::optional<std::string> name;
  std::optional<int64_t> num_bytes;
};

class MemberReader {
 public:
  MemberReader(const ByteFile& file, int64_t offset) : file_(file), begin_(offset), at_(offset) {}

  std::optional<TarMember> read() {
    Overrides overrides;
    for (;;) {
      const std::optional<Block> block = read_block();
      if (!block) {
        if (at_ != begin_) fail("the archive ends after a header of extensions");
        return std::nullopt;
      }
      const auto num_bytes = number(block->field(124, 12));
      if (!num_bytes) fail("a header has no valid size");
      at_ += kTarBlockBytes;
      switch (block->type()) {
        case 'x':
          read_pax(read_record(*num_bytes), overrides);
          break;
        case 'g':
          read_record(*num_bytes);
          break;
        case 'L':
          overrides.name = long_name(read_record(*num_bytes));
          break;
        case 'K':
          read_record(*num_bytes);
          break;
        default:
          return member(*block, *num_bytes, overrides);
      }
    }
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw files_errors::tar(file_.name(), at_, reason);
  }

  std::optional<Block> read_block() {
    const int64_t left = file_.size() - at_;
    if (left == 0) return std::nullopt;
    if (left < kTarBlockBytes) fail("the archive is cut off within a header");
    Block block;
    file_.read(at_, block.bytes.data(), kBlock);
    if (block.is_zero()) return std::nullopt;
    if (!has_good_checksum(block)) fail("this is no tar header (its checksum is wrong)");
    return block;
  }

  std::string read_record(int64_t num_bytes) {
    if (num_bytes > kMostRecordBytes) fail("a header of extensions is too long");
    if (padded(num_bytes) > file_.size() - at_) fail("the archive is cut off within a header");
    std::string record = file_.read_text(at_, static_cast<size_t>(num_bytes));
    at_ += padded(num_bytes);
    return record;
  }

  static std::string long_name(const std::string& record) {
    return record.substr(0, record.find('\0'));
  }

  void read_pax(std::string_view records, Overrides& overrides) const {
    while (!records.empty() && records[0] != '\0') {
      size_t length = 0;
      const auto [at, code] =
          std::from_chars(records.data(), records.data() + records.size(), length);
      const auto prefix = static_cast<size_t>(at - records.data()) + 1;  // "27 "
      if (code != std::errc() || length > records.size() || prefix >= length) {
        fail("a PAX record has no valid length");
      }
      const std::string_view record = records.substr(prefix, length - prefix - 1);
      const size_t equals = record.find('=');
      if (equals == std::string_view::npos) fail("a PAX record has no '='");
      take(record.substr(0, equals), record.substr(equals + 1), overrides);
      records.remove_prefix(length);
    }
  }

  void take(std::string_view key, std::string_view value, Overrides& overrides) const {
    if (key == "path") overrides.name = std::string(value);
    if (key.starts_with("GNU.sparse")) fail("sparse members are not read");
    if (key != "size") return;
    overrides.num_bytes = read_number<int64_t>(value);
    if (overrides.num_bytes.value_or(-1) < 0) fail("a PAX record has no valid size");
  }

  TarMember member(const Block& block, int64_t num_bytes, Overrides& overrides) const {
    TarMember member;
    const char type = block.type();
    if (type == 'S') fail("sparse members are not read");
    member.is_file = type == '0' || type == '\0' || type == '7';
    member.name = overrides.name ? *overrides.name : header_name(block);
    member.header = begin_;
    member.begin = at_;
    // Links and folders may have a size, but they have no data.
    const bool has_data = type < '1' || type > '6';
    member.num_bytes = has_data ? overrides.num_bytes.value_or(num_bytes) : 0;
    if (member.num_bytes > file_.size() - at_) {
      fail("the archive is cut off within '" + member.name + "'");
    }
    return member;
  }

  static std::string header_name(const Block& block) {
    const std::string prefix =
        block.field(257, 5) == "ustar" && block.field(262, 2) != " \0" ? block.text(345, 155) : "";
    const std::string name = block.text(0, 100);
    return prefix.empty() ? name : prefix + "/" + name;
  }

  const ByteFile& file_;
  const int64_t begin_;
  int64_t at_;
};

}  // namespace

int64_t TarMember::end() const { return begin + padded(num_bytes); }

std::optional<TarMember> read_tar_member(const ByteFile& file, int64_t offset) {
  return MemberReader(file, offset).read();
}

std::optional<TarMember> next_tar_file(const ByteFile& file, int64_t offset) {
  for (;;) {
    auto member = read_tar_member(file, std::min(offset, file.size()));
    if (!member || member->is_file) return member;
    offset = member->end();
  }
}

}  // namespace s2s::files
