// Times a codec: a recording encoded and decoded, and frames of 80 ms one after the other.
// codec_bench.py writes the folder and runs transformers on the same weights.
//   OMP_NUM_THREADS=2 build/bin/codec_bench NAME FOLDER SECONDS ROUNDS [processor]
// With the last word, times are those of the processor: for one thread beside other programs.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>

#include "base/machine.h"
#include "common/places.h"
#include "plugins/built_plugins.h"
#include "s2s/kinds/codec.h"

namespace {

using namespace s2s;

constexpr double kFrame_s = 0.08;

bool takes_processor_time = false;

double now_s() {
  if (takes_processor_time) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double seconds_of(const std::function<void()>& work) {
  const double begin = now_s();
  work();
  return now_s() - begin;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double median_of(int rounds, const std::function<void()>& work) {
  std::vector<double> times;
  work();
  for (int round = 0; round < rounds; ++round) times.push_back(seconds_of(work));
  return median(times);
}

/// The median of one step of 80 ms: the user's audio is encoded, and an answer's codes decoded.
double streamed_s(Codec& codec, const at::Tensor& audio_BS, const at::Tensor& codes_BKT) {
  const CodecShape shape = codec.shape();
  const auto frames = static_cast<int64_t>(kFrame_s * shape.frame_rate_hz() + 0.5);
  const int64_t samples = frames * shape.samples_per_frame;
  const auto encoder = codec.open_encoder_stream(1);
  const auto decoder = codec.open_stream(1);
  std::vector<double> times;
  for (int64_t i = 0; (i + 1) * samples <= audio_BS.size(1); ++i) {
    times.push_back(seconds_of([&] {
      if (encoder) encoder->push(audio_BS.narrow(1, i * samples, samples));
      decoder->push(codes_BKT.narrow(2, i * frames, frames));
    }));
  }
  return median(times);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const double seconds = std::atof(argv[3]);
  const int rounds = std::atoi(argv[4]);
  takes_processor_time = argc > 5;
  keep_freed_memory();
  const at::NoGradGuard no_grad;
  test::BuiltPlugins plugins;
  Config node = Config::map();
  node["name"] = Config::scalar(argv[1], true);
  node["path"] = Config::scalar(argv[2], true);
  ModelContext context;
  context.path = "codec";
  const auto codec = plugins.create<Codec>(node, context);
  codec->materialize(at::kCPU, at::kFloat, 0);
  codec->train(false);
  const auto samples =
      static_cast<int64_t>(seconds * static_cast<double>(codec->shape().sample_rate_hz));
  const at::Tensor audio_BS = at::randn({1, samples}) * 0.1;
  const at::Tensor lengths_B = at::full({1}, samples, at::kLong);
  const at::Tensor codes_BKT = codec->encode(audio_BS, lengths_B).first;
  const double encode_s = median_of(rounds, [&] { codec->encode(audio_BS, lengths_B); });
  const double decode_s = median_of(rounds, [&] { codec->decode(codes_BKT); });
  std::printf("{\"threads\": %d, \"encode_s\": %.4f, \"decode_s\": %.4f, \"frame_ms\": %.3f}\n",
              at::get_num_threads(), encode_s, decode_s,
              1000 * streamed_s(*codec, audio_BS, codes_BKT));
  return 0;
}
