// Loads a weight file into a model's memory and prints seconds and bytes as JSON.
//
//   weights_bench FILE load|bytes|rows|columns
//
// load: as a run loads it; bytes: the file's bytes into memory of the same size, nothing else;
// rows, columns: the first half of every matrix, as the first of two ranks would.

#include <ATen/ATen.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>

#include "s2s/nn/weights.h"

namespace {

using Slices = std::map<std::string, s2s::TensorSlice>;

/// Largest resident memory since the last reset, bytes.
int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib * 1024;
  }
  return 0;
}

/// Processor time of this process, which a busy machine changes less than the wall's.
double processor_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

Slices first_halves(const s2s::WeightFiles& files, int64_t dim) {
  Slices slices;
  for (const auto& [name, facts] : files.facts()) {
    if (facts.sizes.size() != 2 || facts.sizes[static_cast<size_t>(dim)] < 2) continue;
    slices[name] = {dim, 0, facts.sizes[static_cast<size_t>(dim)] / 2};
  }
  return slices;
}

/// Memory for every tensor, or for its part; touched, so that it counts before the loading.
std::map<std::string, at::Tensor> allocate(const s2s::WeightFiles& files, const Slices& slices) {
  std::map<std::string, at::Tensor> model;
  for (const auto& [name, facts] : files.facts()) {
    std::vector<int64_t> sizes = facts.sizes;
    const auto part = slices.find(name);
    if (part != slices.end()) {
      sizes[static_cast<size_t>(part->second.dim)] = part->second.length;
    }
    model[name] = at::empty(sizes, at::TensorOptions().dtype(facts.dtype)).fill_(1);
  }
  return model;
}

void read_bytes(const std::string& path, std::map<std::string, at::Tensor>& model) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  for (auto& [name, tensor] : model) {
    auto* to = static_cast<char*>(tensor.mutable_data_ptr());
    for (size_t left = tensor.nbytes(); left > 0;) {
      const ssize_t count = ::read(file, to, left);
      if (count <= 0) std::abort();
      to += count;
      left -= static_cast<size_t>(count);
    }
  }
  ::close(file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string path = argv[1], mode = argv[2];
  const auto files = s2s::WeightFiles::open(path);
  Slices slices;
  if (mode == "rows" || mode == "columns") slices = first_halves(files, mode == "rows" ? 0 : 1);
  std::map<std::string, at::Tensor> model = allocate(files, slices);
  int64_t model_bytes = 0, largest_bytes = 0;
  std::vector<s2s::NamedTensor> ours;
  for (auto& [name, tensor] : model) {
    ours.push_back({name, &tensor, tensor.sizes().vec(), {}});
    model_bytes += static_cast<int64_t>(tensor.nbytes());
    const int64_t whole = static_cast<int64_t>(files.tensor(name).nbytes());
    largest_bytes = std::max(largest_bytes, whole);
  }
  reset_peak();
  const int64_t before = peak_bytes();
  const double processor_before = processor_s();
  const auto start = std::chrono::steady_clock::now();
  if (mode == "bytes") {
    read_bytes(path, model);
  } else {
    s2s::load_tensors(ours, {{{"**", "**"}}, {}}, files, slices);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const double processor = processor_s() - processor_before;
  fmt::print(
      "{{\"seconds\": {:.4f}, \"processor_s\": {:.4f}, \"extra_bytes\": {}, \"model_bytes\": {}, "
      "\"largest_bytes\": {}}}\n",
      seconds.count(), processor, peak_bytes() - before, model_bytes, largest_bytes);
  return 0;
}
