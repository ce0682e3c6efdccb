// Times a decoder's forward and backward; decoder_bench.py runs transformers on the same sizes.
//   OMP_NUM_THREADS=2 build/bin/decoder_bench [rounds]

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "s2s/nn/decoder.h"

namespace {

class BenchDecoder : public s2s::Decoder {
 public:
  using Decoder::Decoder;
  s2s::ShardPlan configure_model(const s2s::MeshShape&) const override { return {}; }
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 12;
  s2s::DecoderSpec spec;
  spec.shape = {1024, 512, 8, 8, 8, 64, 1408, false};
  BenchDecoder model(spec);
  model.materialize(at::kCPU, at::kFloat, 1);
  const at::Tensor x = at::randn({4, 125, 512}).set_requires_grad(true);
  const at::Tensor direction = at::randn({4, 125, 512});
  std::vector<double> forward;
  std::vector<double> total;
  for (int round = 0; round < rounds + 3; ++round) {
    for (s2s::NamedTensor& parameter : model.named_parameters()) {
      parameter.tensor->mutable_grad().reset();
    }
    x.mutable_grad().reset();
    const auto begin = std::chrono::steady_clock::now();
    const at::Tensor y = model(x, s2s::SequenceInfo());
    if (round >= 3) forward.push_back(seconds_since(begin));
    y.backward(direction);
    if (round >= 3) total.push_back(seconds_since(begin));
  }
  std::printf("{\"threads\": %d, \"forward_s\": %.4f, \"total_s\": %.4f, \"best_s\": %.4f}\n",
              at::get_num_threads(), median(forward), median(total),
              *std::min_element(total.begin(), total.end()));
  return 0;
}
