// What it costs to prove a checkpoint whole, as a part of a save, and prints it as JSON.
//
//   save_bench FOLDER [ROUNDS [LAYERS [WIDTH]]]
//
// Saves a decoder's parameters and both moments of its optimizer (12 layers of width 768: 100
// million parameters, 1.2 GB) ROUNDS times, three checkpoints stay. After each save, what a save
// does now and did not before is done once more and timed: headers of tensor files read again,
// index and lengths read again, the same of the checkpoints that rotation counts, and one more
// folder and the lines put on the disk. ratio: that time over the save's without it.

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/atomic_file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_write.h"
#include "s2s/kinds/optimizer.h"
#include "weights/checkpoint_proof.h"

namespace {

namespace fs = std::filesystem;

class Clock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::vector<s2s::LocalShard> decoder(int64_t layers, int64_t width) {
  std::vector<s2s::LocalShard> parts;
  const auto add = [&](const std::string& name, std::vector<int64_t> sizes) {
    const at::Tensor tensor = at::rand(sizes);
    parts.push_back({name, sizes, {{0, tensor.numel()}}, tensor.view({-1}), true});
  };
  add("embed_tokens.weight", {20000, width});
  for (int64_t i = 0; i < layers; ++i) {
    const std::string layer = fmt::format("layers.{}.", i);
    for (const char* name : {"q", "k", "v", "o"}) {
      add(layer + "attention." + name + "_proj.weight", {width, width});
    }
    for (const char* name : {"gate", "up"}) {
      add(layer + "mlp." + name + "_proj.weight", {8 * width / 3, width});
    }
    add(layer + "mlp.down_proj.weight", {width, 8 * width / 3});
    for (const char* name : {"input_norm", "after_norm"}) add(layer + name + ".weight", {width});
  }
  return parts;
}

/// Two moments of every parameter.
class Moments : public s2s::Optimizer {
 public:
  explicit Moments(const std::vector<s2s::LocalShard>& parts) {
    for (const s2s::LocalShard& part : parts) {
      state_[part.name + ".exp_avg"] = at::rand_like(part.tensor);
      state_[part.name + ".exp_avg_sq"] = at::rand_like(part.tensor);
    }
  }
  void attach(std::vector<s2s::NamedTensor>, std::vector<double>) override {}
  void step(double) override {}
  double base_learning_rate() const override { return 0; }
  s2s::TensorMap state() const override { return state_; }
  void restore(const s2s::TensorMap&) override {}

 private:
  s2s::TensorMap state_;
};

void require(const std::string& fault) {
  if (!fault.empty()) throw std::runtime_error(fault);
}

/// What a save did not do before: seconds. lines: a file that is put on the disk, too.
double time_of_proof(const fs::path& folder, const fs::path& newest, const std::string& lines) {
  const s2s::CheckpointIndex index =
      s2s::read_checkpoint_index(newest.string());  // a save has it in memory
  std::ofstream(lines, std::ios::app) << std::string(400, 'x') << '\n';
  const Clock clock;
  require(s2s::header_fault(newest.string(), index));
  require(s2s::checkpoint_fault(newest.string(), s2s::ProofDepth::kLengths));
  for (const auto& [step, path] : s2s::list_checkpoints(folder)) {
    require(s2s::checkpoint_fault(path.string(), s2s::ProofDepth::kHeaders));
  }
  s2s::sync_to_disk(lines);
  s2s::sync_to_disk(folder.string());
  return clock.seconds();
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int i, int64_t otherwise) {
    return argc > i ? std::atoll(argv[i]) : otherwise;
  };
  if (argc < 2) return 2;
  const fs::path folder = argv[1];
  const std::string lines = (folder.parent_path() / "lines.jsonl").string();
  const auto parts = decoder(argument(3, 12), argument(4, 768));
  const Moments moments(parts);
  s2s::CheckpointSettings settings;
  settings.rotation = s2s::Rotation{3};
  settings.lines = lines;
  s2s::CheckpointFolder checkpoints(folder.string(), {}, settings);
  std::vector<double> saves, proofs, ratios;
  for (int64_t step = 1; step <= argument(2, 10); ++step) {
    const Clock clock;
    const fs::path newest = checkpoints.save(parts, moments, {step, "here"});
    const double all_s = clock.seconds();
    const double proof_s = time_of_proof(folder, newest, lines);
    saves.push_back(all_s);
    proofs.push_back(proof_s);
    ratios.push_back(proof_s / (all_s - proof_s));
  }
  const auto median = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  fmt::print(R"({{"save_s": {:.3f}, "proof_s": {:.5f}, "ratio": {:.5f}, "largest_ratio": {:.5f}}})",
             median(saves), median(proofs), median(ratios),
             *std::max_element(ratios.begin(), ratios.end()));
  std::printf("\n");
  return 0;
}
