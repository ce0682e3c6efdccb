// How long a set of very many cuts takes to open, to give its first batch, and to be put where a
// stopped run was; and how much memory that takes.
//
//   large_set_bench FOLDER CUTS [KEY=VALUE ...]
//
// Writes FOLDER/CUTS.jsonl (and its .idx) at the first time: all cuts share two small recordings.
// KEY=VALUE are options of the data source `cuts` beside shuffle, buckets and two threads. Prints
// one JSON line: seconds, bytes, and whether the batches after restoring were the same.

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/duplex/data_files.h"
#include "core/duplex/table_tokenizer.h"
#include "plugins/built_plugins.h"
#include "s2s/kinds/data_source.h"

namespace {

namespace fs = std::filesystem;
using s2s::Config;
using s2s::DataSource;

constexpr int kBatches = 40;  // beyond a snapshot
constexpr double kAudioSeconds = 10;

double seconds_of(const std::function<void()>& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string line_of(int64_t i) {
  const double duration_s = 1 + static_cast<double>(i * 7919 % 90) / 10;
  nlohmann::ordered_json cut = {
      {"id", "c" + std::to_string(i)}, {"start", 0}, {"duration", duration_s}, {"channel", 0}};
  cut["supervisions"] = {{{"id", "t"},
                          {"recording_id", "u"},
                          {"start", 0.2},
                          {"duration", 0.6},
                          {"text", "hello"},
                          {"speaker", "agent"}}};
  cut["recording"] = s2s::test::recording_json("u.wav", 16000, kAudioSeconds);
  cut["custom"]["target_audio"] = s2s::test::recording_json("u.wav", 16000, kAudioSeconds);
  cut["type"] = "MonoCut";
  return cut.dump() + "\n";
}

void write_set(const fs::path& manifest, int64_t num_cuts) {
  if (fs::exists(manifest)) return;
  s2s::test::write_audio(manifest.parent_path() / "u.wav", 16000,
                         s2s::test::ramp(static_cast<int64_t>(kAudioSeconds * 16000)));
  const fs::path partial = manifest.string() + ".partial";
  std::ofstream lines(partial, std::ios::binary);
  std::ofstream index(manifest.string() + ".idx", std::ios::binary);
  uint64_t offset = 0;
  for (int64_t i = 0; i <= num_cuts; ++i) {
    index.write(reinterpret_cast<const char*>(&offset), sizeof offset);
    if (i == num_cuts) break;
    const std::string line = line_of(i);
    lines << line;
    offset += line.size();
  }
  lines.close();
  index.close();
  fs::rename(partial, manifest);
  // An index has to be newer than what it indexes.
  fs::last_write_time(manifest.string() + ".idx", fs::file_time_type::clock::now());
}

Config options_of(const fs::path& manifest, int argc, char** argv) {
  Config options = Config::map();
  const auto set = [&](const std::string& key, const std::string& value) {
    options[key] = Config::scalar(value);
  };
  set("name", "cuts");
  set("cuts_path", manifest.string());
  for (const char* pair : {"shuffle=true", "use_bucketing=true", "batch_duration=60",
                           "num_buckets=10", "seed=1", "num_workers=2"}) {
    const std::string text = pair;
    set(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
  }
  for (int i = 3; i < argc; ++i) {
    const std::string text = argv[i];
    set(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
  }
  return options;
}

std::vector<std::vector<std::string>> take(DataSource& source, int count) {
  std::vector<std::vector<std::string>> ids;
  for (int i = 0; i < count; ++i) ids.push_back(source.next()->ids);
  return ids;
}

int64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: large_set_bench FOLDER CUTS [KEY=VALUE ...]\n");
    return 2;
  }
  const fs::path manifest = fs::path(argv[1]) / (std::string(argv[2]) + ".jsonl");
  fs::create_directories(manifest.parent_path());
  nlohmann::ordered_json out = {{"cuts", std::stoll(argv[2])}};
  out["write_s"] = seconds_of([&] { write_set(manifest, std::stoll(argv[2])); });
  s2s::test::BuiltPlugins plugins;
  s2s::test::TableTokenizer tokenizer;
  s2s::DataContext context;
  context.path = "data.train_ds";
  context.tokenizer = &tokenizer;
  const Config options = options_of(manifest, argc, argv);
  out["peak_before_bytes"] = peak_bytes();
  std::unique_ptr<DataSource> source, resumed;
  std::vector<std::vector<std::string>> expected, found;
  out["open_s"] = seconds_of([&] { source = plugins.create<DataSource>(options, context); });
  out["first_batch_s"] = seconds_of([&] { take(*source, 1); });
  out["batches_s"] = seconds_of([&] { take(*source, kBatches); });
  std::string state;
  out["state_s"] = seconds_of([&] { state = source->state(); });
  out["state_bytes"] = state.size();
  expected = take(*source, kBatches);
  source.reset();
  resumed = plugins.create<DataSource>(options, context);
  out["restore_s"] = seconds_of([&] { resumed->restore(state); });
  out["batch_after_restore_s"] = seconds_of([&] { found = take(*resumed, 1); });
  for (const auto& ids : take(*resumed, kBatches - 1)) found.push_back(ids);
  out["same_batches"] = found == expected;
  out["peak_bytes"] = peak_bytes();
  std::printf("%s\n", out.dump().c_str());
  return found == expected ? 0 : 1;
}
