// Vectors of voices are transformers' (x_vectors.py), and the metric compares them.

#include "plugins/encoders/wav2vec2/speaker_similarity.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

#include "common/places.h"
#include "common/temporary_folder.h"
#include "compare/reference_file.h"
#include "config/config_tree.h"
#include "plugins/encoders/wav2vec2/x_vector.h"
#include "s2s/error.h"
#include "s2s/nn/weights.h"
#include "weights/safetensors.h"

namespace s2s::wav2vec2 {
namespace {

ReferenceFile peer_of(const std::string& name) {
  return read_reference(test::source_dir() + "/tests/reference/data/x_vector_" + name +
                        ".safetensors");
}

/// The folder of a reference file, as save_pretrained writes it.
void write_folder(const test::TemporaryFolder& folder, const ReferenceFile& peer) {
  auto config = config_json(peer.options);
  folder.write("preprocessor_config.json", config["preprocessor"].dump());
  config.erase("preprocessor");
  folder.write("config.json", config.dump());
  write_safetensors(folder / "model.safetensors", peer.weights, {});
}

std::unique_ptr<Metric> metric(const std::string& options) {
  BuildContext context;
  context.path = "model.metrics";
  return speaker_similarity().create(parse_json(options, "options"), context);
}

std::unique_ptr<Metric> metric_at(const test::TemporaryFolder& folder) {
  return metric(R"({"path": ")" + folder.path().string() + "\"}");
}

Spoken spoken(const at::Tensor& audio_S, std::vector<SpeechSegment> speech) {
  Spoken out;
  out.audio = {audio_S, 16000};
  out.speech = std::move(speech);
  return out;
}

double value_of(const Metric& metric) { return metric.values().at(0).value; }

TEST_CASE("the vectors are those of transformers' classes") {
  for (const Family family : {Family::kWavLm, Family::kWav2Vec2}) {
    CAPTURE(name_of(family));
    const test::TemporaryFolder folder;
    const ReferenceFile peer = peer_of(name_of(family));
    write_folder(folder, peer);
    Wav2Vec2Options options;
    options.family = family;
    const Config config = options_from_hf(family, peer.options);
    Findings findings;
    OptionReader(config, "peer", findings).read(options);
    findings.throw_if_any();
    XVector model(options, x_vector_from_hf(peer.options, "peer"), "peer", folder.path().string());
    model.materialize(at::kCPU, at::kFloat, 0);
    model.train(false);
    for (int64_t row = 0; row < 2; ++row) {
      const at::Tensor found_D = model(peer.input("audio")[row]);
      CHECK(at::allclose(found_D, peer.output("embeddings")[row], 1e-4, 1e-5));
    }
    CHECK_FALSE(model(at::zeros({10})).defined());
    CHECK_FALSE(model(at::zeros({500})).defined());
  }
}

TEST_CASE("the similarity is the cosine of the speech in answer and reference") {
  const test::TemporaryFolder folder;
  const ReferenceFile peer = peer_of("wavlm");
  write_folder(folder, peer);
  const at::Tensor audio = peer.input("audio"), vectors = peer.output("embeddings");
  const double expected = at::cosine_similarity(vectors[0], vectors[1], 0).item<double>();
  const auto found = metric_at(folder);
  CHECK(std::isnan(value_of(*found)));
  MetricExample example;
  example.reference = spoken(audio[1], {{0, 0.25}});
  example.hypothesis = spoken(at::cat({at::zeros({1600}), audio[0]}), {{0.1, 0.35}});
  found->add(example);
  CHECK(value_of(*found) == doctest::Approx(expected).epsilon(1e-5));
  example.hypothesis.speech = {{0.1, 0.2}, {0.2, 0.35}};
  found->add(example);
  CHECK(value_of(*found) == doctest::Approx(expected).epsilon(1e-5));
  example.hypothesis.speech.clear();
  found->add(example);
  example.hypothesis = {};
  found->add(example);
  CHECK(value_of(*found) == doctest::Approx(expected).epsilon(1e-5));
}

TEST_CASE("a voice equals itself, and a folder of something else is refused") {
  const test::TemporaryFolder folder;
  ReferenceFile peer = peer_of("wav2vec2");
  write_folder(folder, peer);
  const auto found = metric_at(folder);
  MetricExample example;
  example.reference = example.hypothesis = spoken(peer.input("audio")[0], {{0, 0.25}});
  found->add(example);
  CHECK(value_of(*found) == doctest::Approx(1));
  CHECK_THROWS_WITH_AS(metric("{}"), doctest::Contains("[config/missing]"), Error);
  const test::TemporaryFolder bad;
  peer.weights.erase("tdnn.0.kernel.bias");
  write_folder(bad, peer);
  CHECK_THROWS_WITH_AS(metric_at(bad), doctest::Contains("tdnn.0.kernel.bias"), Error);
  bad.write("config.json", R"({"model_type": "wavlm", "tdnn_kernel": [1]})");
  CHECK_THROWS_WITH_AS(metric_at(bad), doctest::Contains("[encoder/sizes]"), Error);
  bad.write("config.json", R"({"model_type": "bert"})");
  CHECK_THROWS_WITH_AS(metric_at(bad), doctest::Contains("[weights/config]"), Error);
}

}  // namespace
}  // namespace s2s::wav2vec2
