#include "sha256.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace s2s::trackers {
namespace {

using State = std::array<uint32_t, 8>;
constexpr size_t kBlockBytes = 64;

/// The first 32 bits of the fractional part of the root of each of the first 64 primes.
std::array<uint32_t, 64> bits_of_roots(long double (*root)(long double)) {
  std::array<uint32_t, 64> bits{};
  size_t count = 0;
  for (uint32_t n = 2; count < bits.size(); ++n) {
    bool is_prime = true;
    for (uint32_t divisor = 2; divisor * divisor <= n; ++divisor) is_prime &= n % divisor != 0;
    if (!is_prime) continue;
    const long double value = root(static_cast<long double>(n));
    bits[count++] = static_cast<uint32_t>((value - std::floor(value)) * 4294967296.0L);
  }
  return bits;
}

void add_block(State& state, const unsigned char* block, const std::array<uint32_t, 64>& round) {
  std::array<uint32_t, 64> w{};
  for (size_t t = 0; t < 16; ++t) {
    for (size_t i = 0; i < 4; ++i) w[t] = w[t] << 8U | block[4 * t + i];
  }
  for (size_t t = 16; t < 64; ++t) {
    const uint32_t a = w[t - 15], b = w[t - 2];
    w[t] = w[t - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3U)) + w[t - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10U));
  }
  State s = state;
  for (size_t t = 0; t < 64; ++t) {
    const uint32_t one = s[7] + (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                         ((s[4] & s[5]) ^ (~s[4] & s[6])) + round[t] + w[t];
    const uint32_t two = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) +
                         ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    s = {one + two, s[0], s[1], s[2], s[3] + one, s[4], s[5], s[6]};
  }
  for (size_t i = 0; i < state.size(); ++i) state[i] += s[i];
}

}  // namespace

std::string sha256(std::string_view bytes) {
  static const auto kRound =
      bits_of_roots([](long double n) -> long double { return std::cbrt(n); });
  static const auto kStart =
      bits_of_roots([](long double n) -> long double { return std::sqrt(n); });
  State state{};
  for (size_t i = 0; i < state.size(); ++i) state[i] = kStart[i];
  std::string end(bytes.substr(bytes.size() / kBlockBytes * kBlockBytes));
  end += '\x80';
  while (end.size() % kBlockBytes != kBlockBytes - 8) end += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) {
    end += static_cast<char>((uint64_t{bytes.size()} * 8 >> shift) & 0xFFU);
  }
  const auto add_all = [&](std::string_view whole) {
    for (size_t at = 0; at + kBlockBytes <= whole.size(); at += kBlockBytes) {
      add_block(state, reinterpret_cast<const unsigned char*>(whole.data()) + at, kRound);
    }
  };
  add_all(bytes);
  add_all(end);
  std::string text;
  for (const uint32_t word : state) text += fmt::format("{:08x}", word);
  return text;
}

}  // namespace s2s::trackers
