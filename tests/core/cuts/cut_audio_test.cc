#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/temporary_folder.h"
#include "core/data/data_files.h"
#include "core/data/golden_file.h"
#include "s2s/audio_loader.h"
#include "s2s/error.h"

namespace {

using s2s::test::ramp;
using s2s::test::TemporaryFolder;
using s2s::test::write_audio;

s2s::Cut make_cut(const std::string& path, double start_s, double duration_s, int64_t rate_hz,
                  double recording_s) {
  s2s::Cut cut;
  cut.id = "d0";
  cut.manifest = "cuts.jsonl";
  cut.line = 1;
  cut.start_s = start_s;
  cut.duration_s = duration_s;
  cut.recording = s2s::Recording{"r",         {{s2s::AudioSource::Type::kFile, {0}, path}},
                                 rate_hz,     static_cast<int64_t>(recording_s * 16000),
                                 recording_s, {},
                                 {}};
  return cut;
}

at::Tensor as_tensor(const std::vector<float>& samples) { return at::tensor(samples); }

}  // namespace

TEST_CASE("a cut's stretch of a file comes back sample for sample, from WAV and FLAC") {
  const TemporaryFolder dir;
  const auto samples = ramp(16000);
  write_audio(dir / "a.wav", 16000, samples);
  write_audio(dir / "a.flac", 16000, samples, 1, SF_FORMAT_FLAC | SF_FORMAT_PCM_16);
  for (const char* name : {"a.wav", "a.flac"}) {
    CAPTURE(name);
    const auto whole = s2s::AudioLoader().source(make_cut(dir / name, 0, 1, 16000, 1), 16000);
    CHECK(at::equal(whole, as_tensor(samples)));
    const auto part = s2s::AudioLoader().source(make_cut(dir / name, 0.25, 0.5, 16000, 1), 16000);
    CHECK(at::equal(part, whole.narrow(0, 4000, 8000)));
  }
}

// numpy: np.pad([0, 1, 2], (0, 6), mode="reflect") = 0 1 2 1 0 1 2 1 0
TEST_CASE("audio a little shorter than the cut is continued by reflection") {
  const TemporaryFolder dir;
  write_audio(dir / "a.wav", 16000, ramp(15000));
  const auto audio = s2s::AudioLoader().source(make_cut(dir / "a.wav", 0, 1, 16000, 1), 16000);
  CHECK(audio.size(0) == 16000);
  CHECK(at::equal(audio.narrow(0, 15000, 1000), audio.narrow(0, 13999, 1000).flip(0)));
  write_audio(dir / "b.wav", 16000, ramp(3));
  const auto tiny =
      s2s::AudioLoader().source(make_cut(dir / "b.wav", 0, 9 / 16000.0, 16000, 1), 16000);
  const auto index = at::tensor({0, 1, 2, 1, 0, 1, 2, 1, 0}, at::kLong);
  CHECK(at::equal(tiny, tiny.narrow(0, 0, 3).index_select(0, index)));
}

TEST_CASE("a cut longer than its audio is [data/cut-too-long] with both ends") {
  const TemporaryFolder dir;
  write_audio(dir / "a.wav", 16000, ramp(16000));
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(make_cut(dir / "a.wav", 0, 1.6, 16000, 1), 16000),
                       doctest::Contains("[data/cut-too-long]"), s2s::Error);
  CHECK_THROWS_WITH_AS(
      s2s::AudioLoader().source(make_cut(dir / "a.wav", 1.5, 0.2, 16000, 1), 16000),
      doctest::Contains("needs 1.500 s to 1.700 s"), s2s::Error);
}

TEST_CASE("a file much longer than its manifest says is [data/duration-mismatch]") {
  const TemporaryFolder dir;
  write_audio(dir / "a.wav", 16000, ramp(32000));
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(make_cut(dir / "a.wav", 0, 1, 16000, 1), 16000),
                       doctest::Contains("[data/duration-mismatch]"), s2s::Error);
  CHECK(s2s::AudioLoader().source(make_cut(dir / "a.wav", 0, 1.8, 16000, 1.8), 16000).size(0) ==
        28800);
}

TEST_CASE("a missing file is [data/missing-file], one without audio [data/unreadable-audio]") {
  const TemporaryFolder dir;
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(make_cut(dir / "no.wav", 0, 1, 16000, 1), 16000),
                       doctest::Contains("[data/missing-file]"), s2s::Error);
  s2s::test::write_text(dir / "text.wav", "this is not audio");
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(make_cut(dir / "text.wav", 0, 1, 16000, 1), 16000),
                       doctest::Contains("[data/unreadable-audio]"), s2s::Error);
}

TEST_CASE("a file of another rate than its manifest says is [data/sample-rate]") {
  const TemporaryFolder dir;
  write_audio(dir / "a.wav", 8000, ramp(8000));
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(make_cut(dir / "a.wav", 0, 1, 16000, 1), 16000),
                       doctest::Contains("[data/sample-rate]"), s2s::Error);
}

TEST_CASE("a file that ends before its header says is [data/unreadable-audio]") {
  const TemporaryFolder dir;
  const std::string path = dir / "a.flac";
  write_audio(path, 16000, ramp(16000), 1, SF_FORMAT_FLAC | SF_FORMAT_PCM_16);
  std::filesystem::resize_file(path, 42);  // the mark and the first block, which has the length
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(make_cut(path, 0, 1, 16000, 1), 16000),
                       doctest::Contains("[data/unreadable-audio]"), s2s::Error);
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(make_cut(path, 0, 1, 16000, 1), 16000),
                       doctest::Contains("it is cut off: of 16000 samples 0 are there"),
                       s2s::Error);
}

TEST_CASE("the cut's channel is picked; channels that are not there are [data/channel]") {
  const TemporaryFolder dir;
  const auto samples = ramp(16000, 2);
  write_audio(dir / "a.wav", 16000, samples, 2);
  const auto both = as_tensor(samples).view({16000, 2});
  s2s::Cut cut = make_cut(dir / "a.wav", 0, 1, 16000, 1);
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 16000), doctest::Contains("[data/channel]"),
                       s2s::Error);
  cut.recording->sources[0].channels = {0, 1};
  cut.channels = {1};
  CHECK(at::equal(s2s::AudioLoader().source(cut, 16000), both.select(1, 1)));
  cut.channels = {2};
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 16000), doctest::Contains("has no channel 2"),
                       s2s::Error);
  cut.set_custom("target_audio", *cut.recording);
  CHECK(at::allclose(s2s::AudioLoader().target(cut, 16000), both.mean(1)));
  cut.set_custom("target_audio_channel_selector", s2s::JsonText{"1"});
  CHECK(at::equal(s2s::AudioLoader().target(cut, 16000), both.select(1, 1)));
}

TEST_CASE("the agent's audio begins where the cut does, or at its own start when unaligned") {
  const TemporaryFolder dir;
  write_audio(dir / "a.wav", 16000, ramp(16000));
  s2s::Cut cut = make_cut(dir / "a.wav", 0.5, 0.25, 16000, 1);
  cut.set_custom("target_audio", *cut.recording);
  CHECK(at::equal(s2s::AudioLoader().target(cut, 16000), as_tensor(ramp(4000, 1, 8000))));
  cut.set_custom("target_audio_unaligned", s2s::JsonText{"true"});
  CHECK(at::equal(s2s::AudioLoader().target(cut, 16000), as_tensor(ramp(4000))));
  cut.erase_custom("target_audio");
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().target(cut, 16000), doctest::Contains("[data/no-target]"),
                       s2s::Error);
  cut.recording.reset();
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 16000),
                       doctest::Contains("[data/no-recording]"), s2s::Error);
}

TEST_CASE("what cannot be loaded is refused: [data/source-type], [data/transforms]") {
  s2s::Cut cut = make_cut("a.wav", 0, 1, 16000, 1);
  cut.recording->sources[0].type = s2s::AudioSource::Type::kCommand;
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 16000),
                       doctest::Contains("[data/source-type]"), s2s::Error);
  cut.recording->sources[0].type = s2s::AudioSource::Type::kFile;
  cut.recording->transforms = {{"Speed", {R"({"factor":2})"}}};
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 16000),
                       doctest::Contains("[data/transforms]"), s2s::Error);
  cut.kind = s2s::Cut::Kind::kMixed;
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 16000), doctest::Contains("[data/cut-type]"),
                       s2s::Error);
}

TEST_CASE("stretches, resampling and lengths that do not fit equal lhotse's") {
  const TemporaryFolder dir;
  const s2s::test::GoldenFile golden(S2S_SOURCE_DIR
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
    const s2s::Cut cut = make_cut(file, row[4], row[5], row[2], row[3]);
    const auto loaded = s2s::AudioLoader().source(cut, row[6]);
    const auto expected = golden.tensor("output/" + name);
    REQUIRE(loaded.size(0) == expected.size(0));
    largest = std::max(largest, (loaded - expected).abs().max().item<double>());
  }
  MESSAGE("largest difference from lhotse: ", largest);
  CHECK(cases.size() == 7);
  CHECK(largest < 2e-6);
}
