// Checks the source against the requirements of all data sources, with noise as audio. Prints the
// violations.

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "s2s/conformance.h"
#include "s2s/error.h"
#include "s2s/nn/weights.h"
#include "source.h"

namespace {

namespace fs = std::filesystem;

constexpr int kRateHz = 8000;

/// One token per letter.
struct Letters final : s2s::Tokenizer {
  s2s::SpecialIds ids{1, 2, 0};
  std::vector<int64_t> encode(std::string_view text) const override {
    return {text.begin(), text.end()};
  }
  std::string decode(const std::vector<int64_t>&) const override { return ""; }
  int64_t vocab_size() const override { return 256; }
  const s2s::SpecialIds& special_ids() const override { return ids; }
  std::string piece(int64_t id) const override { return std::to_string(id); }
};

int num_wrong = 0;

void expect(bool holds, const std::string& what) {
  if (!holds) std::fprintf(stderr, "failed: %s\n", what.c_str());
  num_wrong += holds ? 0 : 1;
}

/// Writes 16-bit mono. Only for little-endian machines.
void write_wave(const fs::path& path, int num_samples, int seed) {
  std::ofstream out(path, std::ios::binary);
  const auto number = [&](int64_t value, int num_bytes) {
    out.write(reinterpret_cast<const char*>(&value), num_bytes);
  };
  out << "RIFF";
  number(36 + 2 * num_samples, 4);
  out << "WAVEfmt ";
  number(16, 4);
  number(1, 2);  // PCM
  number(1, 2);
  number(kRateHz, 4);
  number(2 * kRateHz, 4);
  number(2, 2);
  number(16, 2);
  out << "data";
  number(2 * num_samples, 4);
  for (int i = 0; i < num_samples; ++i) number(i * (2 * seed + 1) % 4001 - 2000, 2);
}

/// Five dialogues of 1.0, 1.2, ... seconds.
std::string write_list(const fs::path& folder) {
  std::ofstream list(folder / "list.txt");
  list << "# made by the test\n";
  for (int i = 0; i < 5; ++i) {
    const std::string name = "d" + std::to_string(i);
    const int num_samples = kRateHz + i * kRateHz / 5;
    write_wave(folder / (name + "_user.wav"), num_samples, i);
    write_wave(folder / (name + "_agent.wav"), num_samples, i + 9);
    list << "dialog\t" << name << "\t" << name << "_user.wav\t" << name << "_agent.wav\t"
         << num_samples / static_cast<double>(kRateHz) << "\n";
    list << "turn\tuser\t0\t0.4\thi\nturn\tagent\t0.48\t0.96\tyes\n";
  }
  return (folder / "list.txt").string();
}

std::unique_ptr<s2s::DataSource> open(const std::string& list, const std::string& more,
                                      int64_t rank = 0, int64_t num_ranks = 1) {
  static const Letters tokenizer;
  static const s2s::Config data =
      s2s::parse_json(R"({"source_sample_rate": 16000, "target_sample_rate": 8000})", "data");
  s2s::DataContext context;
  context.path = "data.train_ds";
  context.seed = 3;
  context.tokenizer = &tokenizer;
  context.data = &data;
  context.data_rank = rank;
  context.data_size = num_ranks;
  const std::string json =
      R"({"path": ")" + list + R"(", "sample_rate": 8000, "batch_size": 2)" + more + "}";
  return PLUGIN_NAME::create(s2s::parse_json(json, "options"), context);
}

void ask(const std::string& list) {
  for (const std::string more : {"", R"(, "shuffle": false, "repeat": false)"}) {
    const auto anew = [&] { return open(list, more); };
    for (const std::string& answer : s2s::conformance::broken_promises(anew, 8)) {
      expect(false, answer);
    }
  }
  const auto whole = open(list, ""), even = open(list, "", 0, 2), odd = open(list, "", 1, 2);
  std::set<std::string> epoch;
  for (int i = 0; i < 6; ++i) {
    const s2s::Batch batch = *whole->next();
    expect(batch.ids == (i % 2 == 0 ? even : odd)->next()->ids, "two ranks share the same order");
    if (i < 3) epoch.insert(batch.ids.begin(), batch.ids.end());
  }
  expect(epoch.size() == 5, "an epoch contains each dialogue once");
  expect(even->state() == odd->state(), "the state is equal on every data rank");
  const s2s::Batch first = *open(list, R"(, "shuffle": false)")->next();
  expect(first.source_audio_BS.size(1) == 16000 * 6 / 5 && first.target_texts[0] == "yes",
         "audio and texts come from the list");
}

void expect_error(const std::string& id, const std::function<void()>& action) {
  try {
    action();
    expect(false, id + " was not thrown");
  } catch (const s2s::Error& error) {
    expect(error.id() == id, std::string(error.what()) + ", expected " + id);
  }
}

}  // namespace

int main() {
  const fs::path folder =
      fs::temp_directory_path() / ("PLUGIN_NAME_test_" + std::to_string(getpid()));
  fs::create_directories(folder);
  const std::string list = write_list(folder);
  ask(list);
  expect_error("PLUGIN_NAME/list", [&] { open((folder / "none.txt").string(), ""); });
  expect_error("PLUGIN_NAME/state", [&] { open(list, "")->restore("4 batches of 3"); });
  expect_error("data/missing-file", [&] {
    fs::remove(folder / "d1_user.wav");
    open(list, "");
  });
  expect_error("PLUGIN_NAME/line", [&] {
    std::ofstream(list, std::ios::app) << "turn\tuser\tsoon\t2\thello\n";
    open(list, "");
  });
  fs::remove_all(folder);
  if (num_wrong == 0) std::puts("ok");
  return num_wrong == 0 ? 0 : 1;
}
