#include "wandb_log.h"

#include <zlib.h>

#include <filesystem>

#include "proto_message.h"

namespace s2s::trackers {
namespace {

constexpr size_t kBlock = 32768;
constexpr size_t kPartHeader = 7;
constexpr std::string_view kFileHeader("\x3aW&B\xe1\xbe\0", 7);
enum PartType { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

uint32_t part_checksum(std::string_view part, int type) {
  const auto first = static_cast<Bytef>(type);
  const uLong checksum = crc32(crc32(0, nullptr, 0), &first, 1);
  return static_cast<uint32_t>(
      crc32(checksum, reinterpret_cast<const Bytef*>(part.data()), static_cast<uInt>(part.size())));
}

uint64_t little_endian_number(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8U | static_cast<uint8_t>(bytes[i]);
  return value;
}

}  // namespace

void visit_wandb_records(const std::string& path,
                         const std::function<bool(const WandbRecord&)>& visit) {
  if (!std::filesystem::exists(path)) return;
  InputFile file(path);
  if (file.read(0, kFileHeader.size()) != kFileHeader) return;
  WandbRecord record;
  for (size_t at = kFileHeader.size(); at + kPartHeader <= file.size();) {
    const size_t left = kBlock - at % kBlock;
    if (left < kPartHeader) {
      at += left;
      continue;
    }
    const std::string head(file.read(at, kPartHeader));
    if (head.size() < kPartHeader) return;
    const size_t length = little_endian_number(std::string_view(head).substr(4, 2));
    const int type = static_cast<uint8_t>(head[6]);
    if (at + kPartHeader + length > file.size()) return;
    const std::string_view part = file.read(at + kPartHeader, length);
    const uint64_t checksum = little_endian_number(std::string_view(head).substr(0, 4));
    if (part_checksum(part, type) != checksum) return;
    at += kPartHeader + length;
    if (type == kFull || type == kFirst) record.data.clear();
    record.data += part;
    record.end = at;
    if ((type == kFull || type == kLast) && !visit(record)) return;
  }
}

WandbLog::WandbLog(const std::string& path, size_t end, double flush_secs) {
  if (end == 0) replace_file(path, kFileHeader);
  position_ = end == 0 ? kFileHeader.size() : end;
  std::filesystem::resize_file(path, position_);
  file_ = std::make_unique<RecordFile>(path, flush_secs);
}

void WandbLog::append_part(std::string_view part, int type) {
  file_->append(little_endian_bytes(part_checksum(part, type), 4) +
                little_endian_bytes(part.size(), 2) + static_cast<char>(type));
  file_->append(part);
  position_ += kPartHeader + part.size();
}

void WandbLog::append(std::string_view record) {
  bool is_first = true;
  do {
    size_t left = kBlock - position_ % kBlock;
    if (left < kPartHeader) {
      file_->append(std::string(left, '\0'));
      position_ += left;
      left = kBlock;
    }
    const std::string_view part = record.substr(0, left - kPartHeader);
    record.remove_prefix(part.size());
    const bool is_last = record.empty();
    append_part(part, is_first ? (is_last ? kFull : kFirst) : (is_last ? kLast : kMiddle));
    is_first = false;
  } while (!record.empty());
}

}  // namespace s2s::trackers
