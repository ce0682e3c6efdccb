// Samples against those that lhotse loads.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cstdlib>

#include "common/allowed_commands.h"
#include "common/places.h"
#include "common/temporary_folder.h"
#include "core/cuts/recording_cut.h"
#include "core/duplex/data_files.h"
#include "core/duplex/golden_file.h"
#include "cuts/cut_audio.h"
#include "cuts/cut_files.h"
#include "s2s/data/audio_loader.h"

namespace {

using s2s::test::recording_cut;
using s2s::test::TemporaryFolder;
using s2s::test::write_audio;

}  // namespace

TEST_CASE("every kind of cut and every transform give lhotse's samples") {
  const s2s::test::AllowedCommands allowed;
  const std::string folder = s2s::test::source_dir() + "/tests/reference/data/lhotse_cut_audio";
  setenv("S2S_AUDIO", folder.c_str(), 1);
  const s2s::test::GoldenFile load(folder + "/load.safetensors.gz");
  const s2s::test::GoldenFile rate(folder + "/rate.safetensors.gz");
  const s2s::test::GoldenFile custom(folder + "/custom.safetensors.gz");
  s2s::data::CutAudio audio;
  double largest = 0;
  int compared = 0;
  const auto compare = [&](const s2s::test::GoldenFile& golden, const std::string& name,
                           bool is_loose, const at::Tensor& loaded) {
    CAPTURE(name);
    const at::Tensor expected = golden.tensor(name);
    REQUIRE(loaded.sizes() == expected.sizes());
    const double difference = (loaded - expected).abs().max().item<double>();
    // Codecs of other versions round differently, and encoders choose other bits.
    CHECK(difference < (is_loose ? 5e-2 : 1e-5));
    if (!is_loose) largest = std::max(largest, difference);
    ++compared;
  };
  for (const s2s::Cut& cut : s2s::read_cuts({folder + "/cuts.jsonl"}).cuts) {
    const bool is_loose = cut.id.starts_with("loose");
    compare(load, "load/" + cut.id, is_loose, audio.load(cut));
    if (rate.has("rate/" + cut.id)) {
      compare(rate, "rate/" + cut.id, is_loose, audio.load(cut, 22050));
    }
    if (cut.find_recording("target_audio") != nullptr) {
      compare(custom, "custom/" + cut.id + "/target_audio", is_loose,
              audio.load_custom(cut, "target_audio"));
    }
  }
  MESSAGE("largest difference from lhotse: ", largest);
  CHECK(compared > 100);
}

TEST_CASE("stretches, resampling and lengths that do not fit equal lhotse's") {
  const TemporaryFolder dir;
  const s2s::test::GoldenFile golden(s2s::test::source_dir() +
                                     "/tests/reference/data/lhotse_audio.safetensors");
  const auto cases = nlohmann::json::parse(golden.metadata("cases"));
  double largest = 0;
  for (const auto& row : cases) {
    const std::string name = row[0];
    CAPTURE(name);
    const std::string file = dir / row[1].get<std::string>();
    const auto input = golden.tensor("input/" + row[1].get<std::string>());
    write_audio(file, row[2],
                {input.const_data_ptr<float>(), input.const_data_ptr<float>() + input.numel()});
    const s2s::Cut cut = recording_cut(file, row[4], row[5], row[2], row[3]);
    const auto loaded = s2s::AudioLoader().source(cut, row[6]);
    const auto expected = golden.tensor("output/" + name);
    REQUIRE(loaded.size(0) == expected.size(0));
    largest = std::max(largest, (loaded - expected).abs().max().item<double>());
  }
  MESSAGE("largest difference from lhotse: ", largest);
  CHECK(cases.size() == 7);
  CHECK(largest < 2e-6);
}
