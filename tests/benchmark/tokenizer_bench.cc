// How fast a tokenizer encodes the lines of a file. tokenizer_bench.py runs it beside its peer.
//
//   tokenizer_bench PLUGIN TOKENIZER TEXTS ROUNDS
//
// Prints one JSON line: processor time of the first and of the best round, number of ids of a
// round.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "plugins/built_plugins.h"
#include "s2s/kinds/tokenizer.h"

namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::vector<std::string> read_texts(const char* path) {
  std::vector<std::string> texts;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    texts.push_back(nlohmann::json::parse(line).get<std::string>());
  }
  return texts;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: tokenizer_bench PLUGIN TOKENIZER TEXTS ROUNDS\n");
    return 2;
  }
  s2s::Config config = s2s::Config::map();
  config["name"] = s2s::Config::scalar(argv[1]);
  config["path"] = s2s::Config::scalar(argv[2]);
  config["bos_id"] = s2s::Config::scalar("0");
  config["eos_id"] = s2s::Config::scalar("1");
  config["pad_id"] = s2s::Config::scalar("2");
  s2s::test::BuiltPlugins plugins;
  const auto tokenizer = plugins.create<s2s::Tokenizer>(config);
  const std::vector<std::string> texts = read_texts(argv[3]);
  double first_s = 0;
  double best_s = 1e30;
  size_t num_ids = 0;
  for (int round = 0; round < std::atoi(argv[4]); ++round) {
    const double start_s = processor_seconds();
    num_ids = 0;
    for (const std::string& text : texts) num_ids += tokenizer->encode(text).size();
    const double round_s = processor_seconds() - start_s;
    if (round == 0) first_s = round_s;
    best_s = std::min(best_s, round_s);
  }
  const nlohmann::json result = {{"first_s", first_s}, {"best_s", best_s}, {"num_ids", num_ids}};
  std::printf("%s\n", result.dump().c_str());
  return 0;
}
