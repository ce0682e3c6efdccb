// Vectors of voices are NeMo's EncDecSpeakerLabelModel's (speaker_labels.py).

#include "plugins/encoders/wav2vec2/speaker_label.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/places.h"
#include "common/temporary_folder.h"
#include "compare/reference_file.h"
#include "config/config_tree.h"
#include "plugins/encoders/wav2vec2/speaker_similarity.h"
#include "s2s/error.h"
#include "s2s/nn/weights.h"
#include "weights/safetensors.h"

namespace s2s::wav2vec2 {
namespace {

ReferenceFile speaker_label_peer(const std::string& name) {
  return read_reference(test::source_dir() + "/tests/reference/data/speaker_label_" + name +
                        ".safetensors");
}

/// The folder that an archive was unpacked to. JSON is YAML.
void write_archive(const test::TemporaryFolder& folder, const nlohmann::ordered_json& config,
                   TensorMap weights) {
  folder.write("model_config.yaml", config.dump());
  weights["preprocessor.featurizer.window"] = at::ones({400});
  write_safetensors(folder / "model.safetensors", weights, {});
}

std::unique_ptr<Metric> similarity_at(const test::TemporaryFolder& folder) {
  BuildContext context;
  context.path = "model.metrics";
  return speaker_similarity().create(
      parse_json(R"({"path": ")" + folder.path().string() + "\"}", "options"), context);
}

TEST_CASE("the vectors are those of NeMo's class") {
  for (const char* const name : {"titanet", "speakernet", "tap"}) {
    CAPTURE(name);
    const test::TemporaryFolder folder;
    const ReferenceFile peer = speaker_label_peer(name);
    write_archive(folder, config_json(peer.options), peer.weights);
    SpeakerLabel model(speaker_label_from_nemo(peer.options, "peer"), folder.path().string());
    CHECK(model.sample_rate_hz() == 16000);
    for (int64_t row = 0; row < 2; ++row) {
      const at::Tensor found_D = model(peer.input("audio")[row]);
      CHECK(at::allclose(found_D, peer.output("embeddings")[row], 1e-4, 1e-4));
    }
    CHECK_FALSE(model(at::zeros({200})).defined());
  }
}

TEST_CASE("speaker similarity takes NeMo's archive") {
  const test::TemporaryFolder folder;
  const ReferenceFile peer = speaker_label_peer("titanet");
  write_archive(folder, config_json(peer.options), peer.weights);
  const auto found = similarity_at(folder);
  MetricExample example;
  example.hypothesis.audio = {peer.input("audio")[0], 16000};
  example.reference.audio = {peer.input("audio")[1], 16000};
  example.hypothesis.speech = example.reference.speech = {{0, 0.375}};
  found->add(example);
  const at::Tensor vectors = peer.output("embeddings");
  CHECK(found->values().at(0).value ==
        doctest::Approx(at::cosine_similarity(vectors[0], vectors[1], 0).item<double>())
            .epsilon(1e-5));
}

TEST_CASE("an archive of another class, and keys that are not implemented are refused") {
  const ReferenceFile peer = speaker_label_peer("titanet");
  const auto refused = [&](const char* pointer, const nlohmann::ordered_json& value,
                           const std::string& expected) {
    CAPTURE(pointer);
    const test::TemporaryFolder folder;
    auto config = config_json(peer.options);
    config[nlohmann::ordered_json::json_pointer(pointer)] = value;
    write_archive(folder, config, peer.weights);
    CHECK_THROWS_WITH_AS(similarity_at(folder), doctest::Contains(expected.c_str()), Error);
  };
  refused("/target", "nemo.EncDecCTCModel", "[weights/config]");
  refused("/encoder/_target_", "nemo.ECAPAEncoder", "ConvASREncoder");
  refused("/encoder/conv_mask", false, "conv_mask");
  refused("/encoder/jasper", 1, "a list of blocks");
  refused("/encoder/jasper/1/residual_dense", true, "jasper[1]");
  refused("/encoder/jasper/1/residual_mode", "stride_add", "residual_mode");
  refused("/encoder/jasper/1/stride/0", 2, "in a block with a residual");
  refused("/encoder/jasper/1/kernel_size_factor", 0.5, "kernel_size_factor");
  refused("/encoder/jasper/0/kernel/0", 4, "an odd number");
  refused("/encoder/jasper/0/filters", 17, "[weights/mismatch]");
  refused("/decoder/pool_mode", "max", "pool_mode");
  refused("/decoder/emb_sizes", nlohmann::ordered_json::array(), "emb_sizes");
}

}  // namespace
}  // namespace s2s::wav2vec2
