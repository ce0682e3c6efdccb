// How fast audio is read and resampled on one thread. audio_bench.py runs it beside its peers.
//
//   audio_bench FLAC TO_HZ ROUNDS
//
// Prints one JSON line: processor time of the best round of decoding the file, and of resampling
// it.

#include <ATen/ATen.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "audio/audio_reader.h"
#include "s2s/data/resample.h"

namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double best_of(int rounds, const std::function<void()>& work) {
  double best_s = 1e30;
  for (int round = 0; round < rounds; ++round) {
    const double start_s = processor_seconds();
    work();
    best_s = std::min(best_s, processor_seconds() - start_s);
  }
  return best_s;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: audio_bench FLAC TO_HZ ROUNDS\n");
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const auto bytes = std::make_shared<const std::string>(std::istreambuf_iterator<char>(file),
                                                         std::istreambuf_iterator<char>());
  const int rounds = std::atoi(argv[3]);
  at::Tensor audio_CS;
  s2s::data::AudioInfo info;
  const double decode_s = best_of(rounds, [&] {
    s2s::data::AudioReader reader(bytes);
    info = reader.info();
    audio_CS = reader.read();
  });
  const s2s::Resampler resampler(info.sample_rate_hz, std::atoll(argv[2]), true);
  const double resample_s = best_of(rounds, [&] { resampler(audio_CS); });
  std::printf("%s\n",
              nlohmann::json({{"decode_s", decode_s}, {"resample_s", resample_s}}).dump().c_str());
  return 0;
}
