// Silero's voice activity: equal to the package on the files of silero_vad_reference.py.

#include "plugins/metrics/turn_taking/silero.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "common/places.h"
#include "common/reference_json.h"
#include "common/temporary_folder.h"
#include "compare/reference_file.h"
#include "s2s/error.h"
#include "weights/safetensors.h"

namespace s2s::turn_taking {
namespace {

using nlohmann::json;

ReferenceFile network_of_peer() {
  return read_reference(test::source_dir() + "/tests/reference/data/silero_vad.safetensors");
}

/// A file of weights, as the package has one.
std::string write_weights(const test::TemporaryFolder& folder, const TensorMap& weights) {
  const std::string path = folder / "silero_vad_16k.safetensors";
  write_safetensors(path, weights, {});
  return path;
}

std::string message_of(const std::string& path) {
  try {
    const SileroNetwork network(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("the probabilities are those of the package's network") {
  const test::TemporaryFolder folder;
  const ReferenceFile peer = network_of_peer();
  const SileroNetwork network(write_weights(folder, peer.weights));
  const at::Tensor found_N = network(peer.input("audio"));
  const at::Tensor expected_N = peer.output("probabilities");
  REQUIRE(found_N.sizes() == expected_N.sizes());
  CHECK((found_N - expected_N).abs().max().item<double>() < 1e-5);
  CHECK((expected_N.max() - expected_N.min()).item<double>() > 0.1);
  CHECK(network(at::empty({0})).numel() == 0);
}

TEST_CASE("weights under the names of the package's module are read") {
  const test::TemporaryFolder folder;
  const ReferenceFile peer = network_of_peer();
  TensorMap weights = {{"_model_8k.decoder.rnn.bias_ih", at::zeros({512})}};
  const std::map<std::string, std::string> names = {
      {"stft_conv.weight", "stft.forward_basis_buffer"},
      {"conv1", "encoder.0.reparam_conv"},
      {"conv2", "encoder.1.reparam_conv"},
      {"conv3", "encoder.2.reparam_conv"},
      {"conv4", "encoder.3.reparam_conv"},
      {"lstm_cell", "decoder.rnn"},
      {"final_conv", "decoder.decoder.2"}};
  for (const auto& [name, tensor] : peer.weights) {
    for (const auto& [ours, theirs] : names) {
      if (name.starts_with(ours)) weights["_model." + theirs + name.substr(ours.size())] = tensor;
    }
  }
  const at::Tensor found_N = SileroNetwork(write_weights(folder, weights))(peer.input("audio"));
  CHECK((found_N - peer.output("probabilities")).abs().max().item<double>() < 1e-5);
}

TEST_CASE("speech is where get_speech_timestamps finds it") {
  const json cases = test::reference_json("silero_spans.json.gz");
  CHECK(cases.size() == 200);
  size_t spans = 0;
  for (const json& one : cases) {
    SileroOptions options;
    const json& given = one["options"];
    options.threshold = given["threshold"];
    options.min_speech_duration_ms = given["min_speech_duration_ms"];
    options.min_silence_duration_ms = given["min_silence_duration_ms"];
    options.speech_pad_ms = given["speech_pad_ms"];
    if (given.contains("neg_threshold")) options.neg_threshold = given["neg_threshold"];
    json found = json::array();
    for (const SampleSpan& span :
         speech_spans(one["probabilities"].get<std::vector<float>>(), one["samples"], options)) {
      found.push_back({span.begin, span.end});
    }
    spans += found.size();
    CHECK_MESSAGE(found == one["spans"], one.dump());
  }
  CHECK(spans > 200);
}

TEST_CASE("clips of another rate are resampled, and one without samples has no speech") {
  const test::TemporaryFolder folder;
  const ReferenceFile peer = network_of_peer();
  SileroOptions options;
  options.threshold = 0.1;
  options.min_speech_duration_ms = 0;
  const Silero silero(options, write_weights(folder, peer.weights));
  CHECK(silero(AudioClip{}).empty());
  CHECK(silero({at::empty({0}), 16000}).empty());
  const at::Tensor audio_S = peer.input("audio");
  const AudioClip clip = {audio_S, 24000};
  CHECK(Silero::num_samples(clip) == (audio_S.numel() * 2 + 2) / 3);
  for (const SpeechSegment& segment : silero(clip)) {
    CHECK(segment.end_s <= static_cast<double>(Silero::num_samples(clip)) / 16000);
  }
  CHECK(silero({audio_S, 16000}).size() > 0);
}

TEST_CASE("a file of another network is refused with what is wrong in it") {
  const test::TemporaryFolder folder;
  TensorMap weights = network_of_peer().weights;
  weights.erase("conv3.bias");
  weights["stft_conv.weight"] = at::zeros({130, 1, 128});
  const std::string message = message_of(write_weights(folder, weights));
  CHECK_MESSAGE(message.starts_with("[weights/mismatch]"), message);
  CHECK(message.find("conv3.bias") != std::string::npos);
  CHECK(message.find("stft_conv.weight") != std::string::npos);
  CHECK(message_of(folder / "none").starts_with("[weights/unreadable]"));
}

}  // namespace
}  // namespace s2s::turn_taking
