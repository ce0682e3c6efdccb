#include "mel_fsq_options.h"

#include "mel_fsq_errors.h"

namespace s2s::mel_fsq {

void check(const MelFsqOptions& options, const std::string& path) {
  const int64_t rate = options.sample_rate.value_or(16000);
  if (rate < 8000 || rate > 48000 || rate % kColumnsPerSecond != 0) {
    throw bad_sample_rate(path, rate);
  }
  const int64_t asked = options.num_groups * static_cast<int64_t>(options.levels.size());
  const int64_t available = kColumnsPerFrame * options.num_mels;
  if (asked > available) throw too_many_numbers(path, asked, available);
  if (options.levels.empty()) throw bad_level(path, 0);
  int64_t size = 1;
  for (const int64_t level : options.levels) {
    size *= level;
    if (level < 2 || size > 65536) throw bad_level(path, level);
  }
}

namespace {

bool is_product_of_2_3_5(int64_t n) {
  for (const int64_t factor : {2, 3, 5}) {
    while (n % factor == 0) n /= factor;
  }
  return n == 1;
}

}  // namespace

Framing framing_for(int64_t sample_rate_hz) {
  const int64_t hop = sample_rate_hz / kColumnsPerSecond;
  int64_t n_fft = (sample_rate_hz * 64 + 999) / 1000;
  while (n_fft % 2 != 0 || !is_product_of_2_3_5(n_fft)) ++n_fft;
  return {sample_rate_hz, hop, n_fft, n_fft / 2 - hop / 2};
}

}  // namespace s2s::mel_fsq
