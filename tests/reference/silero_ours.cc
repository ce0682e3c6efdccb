// What tests/reference/silero_vad_check.py asks of us.
//
//   silero_ours WEIGHTS IN.json OUT.json
//
// IN: a list of {"audio": FILE of float32 at 16 kHz, "options": {...}}. OUT: a list of
// {"probabilities", "spans"}.

#include <ATen/ATen.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "files/open_bytes.h"
#include "plugins/metrics/turn_taking/silero.h"
#include "s2s/nn/weights.h"

namespace {

using nlohmann::json;
using namespace s2s::turn_taking;

at::Tensor samples_of(const std::string& path) {
  std::string bytes = s2s::files::read_all_bytes(path, "audio");
  return at::from_blob(bytes.data(), {static_cast<int64_t>(bytes.size() / sizeof(float))},
                       at::kFloat)
      .clone();
}

json result_of(const std::string& weights, const json& one) {
  const auto options = s2s::read_options<SileroOptions>(
      s2s::parse_json(one.at("options").dump(), "options"), "silero");
  const at::Tensor samples_S = samples_of(one.at("audio"));
  const at::Tensor found_N = SileroNetwork(weights)(samples_S);
  const float* const first = found_N.const_data_ptr<float>();
  json spans = json::array();
  for (const SampleSpan& span : Silero(options, weights).spans({samples_S, 16000})) {
    spans.push_back({span.begin, span.end});
  }
  return {{"probabilities", std::vector<float>(first, first + found_N.numel())}, {"spans", spans}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: silero_ours WEIGHTS IN.json OUT.json\n");
    return 2;
  }
  try {
    json out = json::array();
    for (const json& one : json::parse(std::ifstream(argv[2]))) {
      out.push_back(result_of(argv[1], one));
    }
    std::ofstream(argv[3]) << out;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
