// How long it takes to go on in the middle of a large set, and prints it as JSON.
//
//   position_bench FOLDER NUM_CUTS
//
// FOLDER/cuts.jsonl is written when it is not there: 10 million cuts are 3 GB. The pipeline repeats
// it, mixes it with a part of itself, and fills buckets of 20000 cuts. A position after 300 batches
// is saved and restored in a new pipeline, and the next 50 batches are compared.

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "samplers/samplers.h"
#include "streams/leaf_streams.h"
#include "streams/python_random.h"

namespace {

using namespace s2s::data;  // NOLINT(google-build-using-namespace)

class Clock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

int64_t memory_mb(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kib = 0;
    if (word == name && status >> kib) return kib / 1024;
  }
  return 0;
}

void write_cuts(const std::string& path, int64_t num_cuts) {
  PythonRandom rng(1);
  std::ofstream file(path);
  for (int64_t i = 0; i < num_cuts; ++i) {
    const double duration = static_cast<double>(rng.randint(32, 1280)) / 64;
    file << fmt::format(
        R"({{"id":"c{0}","start":0.0,"duration":{1},"channel":0,"supervisions":[{{"id":"c{0}",)"
        R"("recording_id":"r{0}","start":0.0,"duration":{1},"channel":0,"text":"some words"}}],)"
        R"("recording":{{"id":"r{0}","sources":[{{"type":"file","channels":[0],)"
        R"("source":"a/{0}.flac"}}],"sampling_rate":16000,"num_samples":{2},"duration":{1}}},)"
        R"("type":"MonoCut"}})"
        "\n",
        i, duration, static_cast<int64_t>(duration * 16000));
  }
}

StreamPtr manifest(const std::string& path) { return open_manifests({path}); }

SamplerPtr pipeline(const std::string& path) {
  std::vector<StreamPtr> sources;
  sources.push_back(repeat(manifest(path), true));
  sources.push_back(repeat(first(manifest(path), 1000), true));
  DynamicBucketingOptions options;
  options.limits = BatchLimits{600, {}, {}};
  options.bins.lengths = {3, 5, 7, 9, 11, 13, 15, 17};
  options.shuffle = true;
  return dynamic_bucketing_sampler(mux(std::move(sources), {{0.9, 0.1}, 1}), options);
}

std::vector<std::vector<CutKey>> next_batches(BatchSampler& sampler, int count) {
  std::vector<std::vector<CutKey>> batches;
  for (int i = 0; i < count; ++i) {
    auto& keys = batches.emplace_back();
    const std::optional<SampledBatch> batch = sampler.next();
    for (const CutItem& item : batch->items) keys.push_back(item.key);
  }
  return batches;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: position_bench FOLDER NUM_CUTS\n");
    return 2;
  }
  const std::string path = std::string(argv[1]) + "/cuts.jsonl";
  if (!std::filesystem::exists(path)) write_cuts(path, std::stoll(argv[2]));
  nlohmann::ordered_json report;

  const Clock start;
  const SamplerPtr sampler = pipeline(path);
  sampler->next();
  report["first_batch_s"] = start.seconds();
  next_batches(*sampler, 299);

  const Clock saving;
  const std::string state = sampler->state().dump();
  report["save_s"] = saving.seconds();
  report["state_bytes"] = state.size();

  const Clock restoring;
  const SamplerPtr again = pipeline(path);
  again->restore(StreamState::parse(state));
  report["restore_s"] = restoring.seconds();
  const Clock first;
  const auto found = next_batches(*again, 50);
  report["next_50_batches_s"] = first.seconds();
  report["next_batches_are_equal"] = found == next_batches(*sampler, 50);
  report["cuts_in_set"] = std::stoll(argv[2]);
  report["memory_mb"] = memory_mb("VmRSS:");
  report["peak_memory_mb"] = memory_mb("VmHWM:");
  std::printf("%s\n", report.dump(2).c_str());
  return report["next_batches_are_equal"].get<bool>() ? 0 : 1;
}
