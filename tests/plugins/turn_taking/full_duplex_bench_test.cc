// Full-Duplex-Bench's numbers: equal to its scripts on the transcripts of full_duplex_bench.py.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <map>

#include "common/places.h"
#include "common/reference_json.h"
#include "common/temporary_folder.h"
#include "compare/reference_file.h"
#include "plugins/metrics/turn_taking/components.h"
#include "plugins/metrics/turn_taking/full_duplex_numbers.h"
#include "plugins/turn_taking/metric_values.h"
#include "s2s/error.h"
#include "s2s/nn/weights.h"
#include "weights/safetensors.h"

namespace s2s::turn_taking {
namespace {

using doctest::Approx;
using nlohmann::json;

std::vector<RecognizedWord> words_of(const json& example) {
  std::vector<RecognizedWord> words;
  for (const json& word : example["words"]) words.push_back({word[0], word[1], word[2]});
  return words;
}

/// An example that was heard in an interruption, or in one of the other tasks.
MetricExample example_of(const json& from, const std::string& set) {
  MetricExample example;
  example.id = from["id"];
  example.data_set = set;
  example.turns = {{false, 0, from["user_end_s"].get<double>(), ""}};
  example.hypothesis.heard = words_of(from);
  return example;
}

const char* const kThreeTasks =
    R"({"tasks": ["pause_handling", "smooth_turn_taking", "user_interruption"]})";

std::unique_ptr<Metric> metric(const std::string& options) {
  return test::metric_of(full_duplex_bench(), options);
}

TEST_CASE("pauses, turns and interruptions have the benchmark's numbers") {
  const json peer = test::reference_json("full_duplex_bench.json.gz");
  const auto found = metric(kThreeTasks);
  for (const json& from : peer["examples"]) {
    for (const char* const set :
         {"candor_pause_handling", "candor_turn_taking", "synthetic_user_interruption", "other"}) {
      found->add(example_of(from, set));
    }
  }
  const auto values = test::numbers(*found);
  CHECK(values.size() == 5);
  CHECK(values.at("fdb_pause_tor") == Approx(peer["pause"]["Average take turn"]).epsilon(1e-12));
  CHECK(values.at("fdb_turn_tor") == Approx(peer["turn"]["Average take turn"]).epsilon(1e-12));
  CHECK(values.at("fdb_turn_latency_s") == Approx(peer["turn"]["Average latency"]).epsilon(1e-12));
  CHECK(values.at("fdb_interruption_tor") ==
        Approx(peer["interruption"]["Average take turn"]).epsilon(1e-12));
  CHECK(values.at("fdb_interruption_latency_s") ==
        Approx(peer["interruption"]["Average latency"]).epsilon(1e-12));
}

TEST_CASE("backchannels have the benchmark's numbers") {
  const json peer = test::reference_json("full_duplex_bench.json.gz");
  int64_t turns = 0;
  for (const json& from : peer["examples"]) {
    const std::string id = from["id"];
    CAPTURE(id);
    const int64_t samples = from["samples"];
    const auto spans =
        speech_spans(from["probabilities"].get<std::vector<float>>(), samples, SileroOptions());
    const Backchannels found = find_backchannels(in_tenths(spans, samples), words_of(from));
    const double duration_s = static_cast<double>(samples) / 16000;
    CHECK(found.takes_turn == (peer["backchannel"]["tor"][id] == 1));
    CHECK(static_cast<double>(found.segments.size()) / duration_s ==
          Approx(peer["backchannel"]["frequency"][id]).epsilon(1e-12));
    CHECK(backchannel_distance(found.segments, duration_s, from["expected"]) ==
          Approx(peer["backchannel"]["jsd"][id]).epsilon(1e-10));
    turns += found.takes_turn ? 1 : 0;
  }
  CHECK(turns > 20);
  CHECK(turns < 50);
}

/// Options with a network of random weights, which takes nearly everything for speech.
std::string with_network(const test::TemporaryFolder& folder, const std::string& distributions) {
  const std::string path = folder / "silero.safetensors";
  const std::string data = test::source_dir() + "/tests/reference/data/silero_vad.safetensors";
  write_safetensors(path, read_reference(data).weights, {});
  const std::string file = folder.write("times.json", distributions);
  return R"({"tasks": ["backchannel"], "silero": {"path": ")" + path +
         R"(", "threshold": 0.05}, "backchannel_distributions": ")" + file + "\"}";
}

MetricExample listener(const std::string& id) {
  MetricExample example;
  example.id = id;
  example.data_set = "icc_backchannel";
  example.hypothesis.heard.emplace();
  example.hypothesis.audio = {at::zeros({32000}), 16000};
  return example;
}

TEST_CASE("a listener is found by Silero's network, and compared with the times of its example") {
  const test::TemporaryFolder folder;
  const auto found = metric(with_network(folder, R"({"a": [0.5, 0.5], "b": [1, 0, 0]})"));
  CHECK(found->needs_audio());
  found->add(listener("a"));
  const auto values = test::numbers(*found);
  CHECK(values.at("fdb_backchannel_tor") == 1);
  CHECK(values.at("fdb_backchannel_frequency") == 0.5);
  CHECK(values.at("fdb_backchannel_jsd") < 0.1);
  try {
    found->add(listener("c"));
    FAIL("expected an error");
  } catch (const Error& error) {
    CHECK(error.id() == "metric/distribution");
    CHECK(error.message().find("'c'") != std::string::npos);
  }
}

TEST_CASE("bad distributions are refused, and without a network there are no backchannels") {
  const test::TemporaryFolder folder;
  for (const char* const text : {"[1]", R"({"a": 1})", R"({"a": [1]})"}) {
    CAPTURE(text);
    const std::string options = with_network(folder, text);
    CHECK_THROWS_WITH_AS(metric(options), doctest::Contains("[metric/distribution]"), Error);
  }
  CHECK_THROWS_WITH_AS(metric(R"({"tasks": ["backchannel"]})"),
                       doctest::Contains("[metric/no-silero] model.metrics.silero.path"), Error);
  CHECK_THROWS_WITH_AS(metric("{}"), doctest::Contains("[config/missing]"), Error);
  CHECK_FALSE(metric(kThreeTasks)->needs_audio());
}

TEST_CASE("without a scorer that tells times nothing is measured") {
  const auto found = metric(kThreeTasks);
  MetricExample example;
  example.data_set = "candor_turn_taking";
  example.turns = {{false, 0, 1, ""}};
  example.hypothesis.text = "heard";
  found->add(example);
  CHECK(test::numbers(*found).empty());
  example.hypothesis.heard.emplace();
  found->add(example);
  CHECK(test::numbers(*found) == std::map<std::string, double>{{"fdb_turn_tor", 0}});
}

}  // namespace
}  // namespace s2s::turn_taking
