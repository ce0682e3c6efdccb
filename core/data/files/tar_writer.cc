#include "files/tar_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "files/tar_header.h"

namespace s2s::files {
namespace {

constexpr size_t kNameBytes = 100;
constexpr uint64_t kLargestOctal = uint64_t{1} << 33;  // 11 digits

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 128; });
}

/// The name in the header of a member whose name is in a PAX record. Each character that is not
/// ASCII becomes a question mark.
std::string short_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 128) {
      out += c;
    } else if (byte >= 0xC0) {
      out += '?';
    }
  }
  return out.substr(0, kNameBytes);
}

std::string header(std::string_view name, char type, uint64_t num_bytes, int mode) {
  std::string block(static_cast<size_t>(kTarBlockBytes), '\0');
  const auto put = [&](size_t at, std::string_view text) {
    std::copy(text.begin(), text.end(), block.begin() + static_cast<ptrdiff_t>(at));
  };
  put(0, name);
  put(100, fmt::format("{:07o}", mode));
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", num_bytes));
  put(136, "00000000000");
  put(148, "        ");
  block[156] = type;
  put(257, std::string_view("ustar\00000", 8));
  uint64_t checksum = 0;
  for (const char c : block) checksum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", checksum));
  block[154] = '\0';
  return block;
}

/// Returns "LENGTH KEY=VALUE\n", in which LENGTH includes itself.
std::string pax_record(std::string_view key, std::string_view value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest;
  for (size_t before = 0; before != length;) {
    before = length;
    length = rest + std::to_string(length).size();
  }
  return fmt::format("{} {}={}\n", length, key, value);
}

}  // namespace

void TarWriter::put(std::string_view bytes) {
  append_(bytes);
  num_bytes_ += static_cast<int64_t>(bytes.size());
}

void TarWriter::put_padded(std::string_view bytes) {
  put(bytes);
  const auto partial = static_cast<size_t>(num_bytes_ % kTarBlockBytes);
  if (partial != 0) put(std::string(static_cast<size_t>(kTarBlockBytes) - partial, '\0'));
}

void TarWriter::add(const std::string& name, std::string_view data) {
  std::string records;
  uint64_t num_bytes = data.size();
  if (!is_ascii(name) || name.size() > kNameBytes) records += pax_record("path", name);
  if (num_bytes >= kLargestOctal) {
    records += pax_record("size", std::to_string(num_bytes));
    num_bytes = 0;
  }
  if (!records.empty()) {
    put(header("././@PaxHeader", 'x', records.size(), 0));
    put_padded(records);
  }
  constexpr int kMode = 0644;
  put(header(short_name(name), '0', num_bytes, kMode));
  put_padded(data);
}

void TarWriter::finish() {
  constexpr int64_t kRecordBytes = 10240;
  put(std::string(static_cast<size_t>(2 * kTarBlockBytes), '\0'));
  const int64_t partial = num_bytes_ % kRecordBytes;
  if (partial != 0) put(std::string(static_cast<size_t>(kRecordBytes - partial), '\0'));
}

}  // namespace s2s::files
