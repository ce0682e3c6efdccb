// Times an encoder on a batch of recordings, or a recognizer. speech_bench.py writes the folder, or
// NeMo's blocks as JSON, and runs the peer in turn.
//   OMP_NUM_THREADS=2 build/bin/speech_bench encoder|scorer NAME FOLDER|FILE.json ROWS SECONDS
//   ROUNDS

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "base/machine.h"
#include "common/places.h"
#include "plugins/built_plugins.h"
#include "s2s/kinds/encoder.h"
#include "s2s/kinds/scorer.h"
#include "s2s/nn/weights.h"

namespace {

using namespace s2s;

constexpr int64_t kRate_hz = 16000;

Config node_of(const Registries& registries, const std::string& name, const std::string& path) {
  Config node = Config::map();
  if (path.ends_with(".json")) {
    node = registries.get<Encoder>(name).translate(read_json(path));
  } else {
    node["path"] = Config::scalar(path, true);
  }
  node["name"] = Config::scalar(name, true);
  return node;
}

/// What is timed.
std::function<void()> encoder_work(test::BuiltPlugins& plugins, const Config& node,
                                   const at::Tensor& audio_BS) {
  BuildContext context;
  context.path = "encoder";
  const std::shared_ptr<Encoder> encoder = plugins.create<Encoder>(node, context);
  encoder->materialize(at::kCPU, at::kFloat, 0);
  encoder->train(false);
  const at::Tensor lengths_B = at::full({audio_BS.size(0)}, audio_BS.size(1), at::kLong);
  return [encoder, audio_BS, lengths_B] { encoder->forward(audio_BS, lengths_B); };
}

std::function<void()> scorer_work(test::BuiltPlugins& plugins, const Config& node,
                                  const at::Tensor& audio_BS) {
  ScorerContext context;
  context.path = "scorer";
  const std::shared_ptr<Scorer> scorer = plugins.create<Scorer>(node, context);
  std::vector<AudioClip> clips;
  for (int64_t row = 0; row < audio_BS.size(0); ++row) clips.push_back({audio_BS[row], kRate_hz});
  return [scorer, clips] { scorer->transcribe(clips); };
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) return 2;
  const int64_t rows = std::atoi(argv[4]);
  const double seconds = std::atof(argv[5]);
  const int rounds = std::atoi(argv[6]);
  keep_freed_memory();
  const at::NoGradGuard no_grad;
  test::BuiltPlugins plugins;
  at::manual_seed(1);
  const at::Tensor audio_BS =
      at::randn({rows, static_cast<int64_t>(seconds * static_cast<double>(kRate_hz))}) * 0.1;
  const Config node = node_of(plugins.registries(), argv[2], argv[3]);
  const auto work = std::string(argv[1]) == "encoder" ? encoder_work(plugins, node, audio_BS)
                                                      : scorer_work(plugins, node, audio_BS);
  std::vector<double> times;
  for (int round = 0; round <= rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (round > 0) times.push_back(took.count());
  }
  std::sort(times.begin(), times.end());
  std::printf("{\"threads\": %d, \"seconds\": %.4f}\n", at::get_num_threads(),
              times[times.size() / 2]);
  return 0;
}
