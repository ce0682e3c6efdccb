#include "files/source_state.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/appended_lines.h"

namespace s2s::files {
namespace {

static_assert(std::endian::native == std::endian::little, "XXH64 reads little-endian words");

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F,
                   kPrime3 = 0x165667B19E3779F9, kPrime4 = 0x85EBCA77C2B2AE63,
                   kPrime5 = 0x27D4EB2F165667C5;

template <typename Word>
uint64_t word_at(const char* bytes) {
  Word word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

uint64_t round_of(uint64_t lane, uint64_t word) {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

uint64_t mixed(uint64_t hash, const char* at, const char* end) {
  for (; end - at >= 8; at += 8) {
    hash = std::rotl(hash ^ round_of(0, word_at<uint64_t>(at)), 27) * kPrime1 + kPrime4;
  }
  for (; end - at >= 4; at += 4) {
    hash = std::rotl(hash ^ (word_at<uint32_t>(at) * kPrime1), 23) * kPrime2 + kPrime3;
  }
  for (; at < end; ++at) {
    hash = std::rotl(hash ^ (word_at<uint8_t>(at) * kPrime5), 11) * kPrime1;
  }
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

void ContentHash::add_block(const char* bytes) {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    lanes_[i] = round_of(lanes_[i], word_at<uint64_t>(bytes + 8 * i));
  }
}

void ContentHash::add(std::string_view bytes) {
  num_bytes_ += bytes.size();
  if (num_waiting_ > 0) {
    const size_t taken = std::min(kBlockBytes - num_waiting_, bytes.size());
    std::memcpy(waiting_.data() + num_waiting_, bytes.data(), taken);
    num_waiting_ += taken;
    bytes.remove_prefix(taken);
    if (num_waiting_ < kBlockBytes) return;
    add_block(waiting_.data());
    num_waiting_ = 0;
  }
  for (; bytes.size() >= kBlockBytes; bytes.remove_prefix(kBlockBytes)) add_block(bytes.data());
  std::copy(bytes.begin(), bytes.end(), waiting_.begin());
  num_waiting_ = bytes.size();
}

uint64_t ContentHash::value() const {
  uint64_t hash = kPrime5;
  if (num_bytes_ >= kBlockBytes) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
           std::rotl(lanes_[3], 18);
    for (const uint64_t lane : lanes_) hash = (hash ^ round_of(0, lane)) * kPrime1 + kPrime4;
  }
  return mixed(hash + num_bytes_, waiting_.data(), waiting_.data() + num_waiting_);
}

uint64_t content_hash(std::string_view bytes) {
  ContentHash hash;
  hash.add(bytes);
  return hash.value();
}

uint64_t content_hash_of_file(const std::string& path) {
  constexpr size_t kChunkBytes = size_t{1} << 20;
  AppendedLines file(path);
  ContentHash hash;
  std::string chunk(std::min(kChunkBytes, std::max<size_t>(file.size(), 1)), '\0');
  size_t at = 0;
  while (const size_t got = file.read(at, chunk.data(), chunk.size())) {
    hash.add({chunk.data(), got});
    at += got;
  }
  return hash.value();
}

int64_t changed_ns(const struct stat& status) {
  return std::max(nanoseconds(status.st_mtim), nanoseconds(status.st_ctim));
}

uint64_t stamp_of(const struct stat& status) {
  const std::array<int64_t, 4> facts = {status.st_size, static_cast<int64_t>(status.st_ino),
                                        nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
  return content_hash({reinterpret_cast<const char*>(facts.data()), sizeof facts});
}

uint64_t stamp_of_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? stamp_of(status) : 0;
}

void SourceState::add(uint64_t state) {
  hash_.add({reinterpret_cast<const char*>(&state), sizeof state});
}

void SourceState::add(std::string_view text) {
  add(static_cast<uint64_t>(text.size()));  // so that "ab", "c" differs from "a", "bc"
  hash_.add(text);
}

void SourceState::add_file(const std::string& path) {
  add(std::string_view(path));
  add(stamp_of_file(path));
}

}  // namespace s2s::files
