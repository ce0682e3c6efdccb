#include "cuts/cut_audio.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <tuple>

#include "audio/encode_audio.h"
#include "common/allowed_commands.h"
#include "common/temporary_folder.h"
#include "core/cuts/recording_cut.h"
#include "core/duplex/data_files.h"
#include "files/tar_writer.h"
#include "s2s/data/audio_loader.h"
#include "s2s/data/resample.h"
#include "s2s/error.h"

namespace {

using s2s::test::ramp;
using s2s::test::recording_cut;
using s2s::test::TemporaryFolder;
using s2s::test::write_audio;

at::Tensor as_tensor(const std::vector<float>& samples) { return at::tensor(samples); }

}  // namespace

TEST_CASE("a cut's stretch of a file comes back sample for sample, from WAV and FLAC") {
  const TemporaryFolder dir;
  const auto samples = ramp(16000);
  write_audio(dir / "a.wav", 16000, samples);
  write_audio(dir / "a.flac", 16000, samples, 1, SF_FORMAT_FLAC | SF_FORMAT_PCM_16);
  for (const char* name : {"a.wav", "a.flac"}) {
    CAPTURE(name);
    const auto whole = s2s::AudioLoader().source(recording_cut(dir / name, 0, 1, 16000, 1), 16000);
    CHECK(at::equal(whole, as_tensor(samples)));
    const auto part =
        s2s::AudioLoader().source(recording_cut(dir / name, 0.25, 0.5, 16000, 1), 16000);
    CHECK(at::equal(part, whole.narrow(0, 4000, 8000)));
  }
}

// numpy: np.pad([0, 1, 2], (0, 6), mode="reflect") = 0 1 2 1 0 1 2 1 0
TEST_CASE("audio a little shorter than the cut is continued by reflection") {
  const TemporaryFolder dir;
  write_audio(dir / "a.wav", 16000, ramp(15000));
  const auto audio = s2s::AudioLoader().source(recording_cut(dir / "a.wav", 0, 1, 16000, 1), 16000);
  CHECK(audio.size(0) == 16000);
  CHECK(at::equal(audio.narrow(0, 15000, 1000), audio.narrow(0, 13999, 1000).flip(0)));
  write_audio(dir / "b.wav", 16000, ramp(3));
  const auto tiny =
      s2s::AudioLoader().source(recording_cut(dir / "b.wav", 0, 9 / 16000.0, 16000, 1), 16000);
  const auto index = at::tensor({0, 1, 2, 1, 0, 1, 2, 1, 0}, at::kLong);
  CHECK(at::equal(tiny, tiny.narrow(0, 0, 3).index_select(0, index)));
}

TEST_CASE("a cut longer than its audio is [data/cut-too-long] with both ends") {
  const TemporaryFolder dir;
  write_audio(dir / "a.wav", 16000, ramp(16000));
  CHECK_THROWS_WITH_AS(
      s2s::AudioLoader().source(recording_cut(dir / "a.wav", 0, 1.6, 16000, 1), 16000),
      doctest::Contains("[data/cut-too-long]"), s2s::Error);
  CHECK_THROWS_WITH_AS(
      s2s::AudioLoader().source(recording_cut(dir / "a.wav", 1.5, 0.2, 16000, 1), 16000),
      doctest::Contains("needs 1.500 s to 1.700 s"), s2s::Error);
}

TEST_CASE("a file much longer than its manifest says is [data/duration-mismatch]") {
  const TemporaryFolder dir;
  write_audio(dir / "a.wav", 16000, ramp(32000));
  CHECK_THROWS_WITH_AS(
      s2s::AudioLoader().source(recording_cut(dir / "a.wav", 0, 1, 16000, 1), 16000),
      doctest::Contains("[data/duration-mismatch]"), s2s::Error);
  CHECK(
      s2s::AudioLoader().source(recording_cut(dir / "a.wav", 0, 1.8, 16000, 1.8), 16000).size(0) ==
      28800);
}

TEST_CASE("a missing file is [data/missing-file], one without audio [data/unreadable-audio]") {
  const TemporaryFolder dir;
  CHECK_THROWS_WITH_AS(
      s2s::AudioLoader().source(recording_cut(dir / "no.wav", 0, 1, 16000, 1), 16000),
      doctest::Contains("[data/missing-file]"), s2s::Error);
  s2s::test::write_text(dir / "text.wav", "this is not audio");
  CHECK_THROWS_WITH_AS(
      s2s::AudioLoader().source(recording_cut(dir / "text.wav", 0, 1, 16000, 1), 16000),
      doctest::Contains("[data/unreadable-audio]"), s2s::Error);
}

TEST_CASE("a file of another rate than its manifest says is [data/sample-rate]") {
  const TemporaryFolder dir;
  write_audio(dir / "a.wav", 8000, ramp(8000));
  CHECK_THROWS_WITH_AS(
      s2s::AudioLoader().source(recording_cut(dir / "a.wav", 0, 1, 16000, 1), 16000),
      doctest::Contains("[data/sample-rate]"), s2s::Error);
}

TEST_CASE("a file that ends before its header says is [data/unreadable-audio]") {
  const TemporaryFolder dir;
  for (const auto& [name, format, bytes, there] :
       std::vector<std::tuple<std::string, int, uintmax_t, std::string>>{
           {"a.flac", SF_FORMAT_FLAC, 42, "0"},  // the mark and the first block, with the length
           {"a.wav", SF_FORMAT_WAV, 44 + 2 * 12000, "12000"}}) {
    const std::string path = dir / name;
    write_audio(path, 16000, ramp(16000), 1, format | SF_FORMAT_PCM_16);
    std::filesystem::resize_file(path, bytes);
    const s2s::Cut cut = recording_cut(path, 0, 1, 16000, 1);
    CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 16000),
                         doctest::Contains("[data/unreadable-audio]"), s2s::Error);
    const std::string reason = "it is cut off: of 16000 samples " + there + " are there";
    CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 16000), doctest::Contains(reason.c_str()),
                         s2s::Error);
  }
  CHECK(
      s2s::AudioLoader().source(recording_cut(dir / "a.wav", 0.25, 0.5, 16000, 1), 16000).size(0) ==
      8000);
}

TEST_CASE("the cut's channel is picked; channels that are not there are [data/channel]") {
  const TemporaryFolder dir;
  const auto samples = ramp(16000, 2);
  write_audio(dir / "a.wav", 16000, samples, 2);
  const auto both = as_tensor(samples).view({16000, 2});
  s2s::Cut cut = recording_cut(dir / "a.wav", 0, 1, 16000, 1);
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
  s2s::Cut cut = recording_cut(dir / "a.wav", 0.5, 0.25, 16000, 1);
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
  const TemporaryFolder dir;
  write_audio(dir / "a.wav", 16000, ramp(16000));
  s2s::Cut cut = recording_cut(dir / "a.wav", 0, 1, 16000, 1);
  for (const auto type : {s2s::AudioSource::Type::kUrl, s2s::AudioSource::Type::kShar}) {
    cut.recording->sources[0].type = type;
    CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 16000),
                         doctest::Contains("[data/source-type]"), s2s::Error);
  }
  cut.recording->sources[0].type = s2s::AudioSource::Type::kFile;
  for (const s2s::AudioTransform& transform : std::vector<s2s::AudioTransform>{
           {"DereverbWPE", {"{}"}},
           {"Speed", {R"({"factor":0})"}},
           {"Volume", {"{}"}},
           {"Narrowband",
            {R"({"codec":"lpc10","source_sampling_rate":16000,"restore_orig_sr":true})"}},
           {"ReverbWithImpulseResponse", {R"({"rir":null,"rir_generator":null})"}},
           {"Shout", {"{}"}}}) {
    CAPTURE(transform.name);
    cut.recording->transforms = {transform};
    CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 16000),
                         doctest::Contains("[data/transforms]"), s2s::Error);
    CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 16000),
                         doctest::Contains(("the transform " + transform.name).c_str()),
                         s2s::Error);
  }
}

TEST_CASE("a codec that does not take the rate is [data/audio-format] with the cut's place") {
  const TemporaryFolder dir;
  write_audio(dir / "a.wav", 22050, ramp(22050));
  s2s::Cut cut = recording_cut(dir / "a.wav", 0, 1, 22050, 1);
  cut.recording->transforms = {{"Compress", {R"({"codec":"opus","compression_level":0.5})"}}};
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 22050),
                       doctest::Contains("[data/audio-format] cuts.jsonl:1: cut 'd0': audio of 1"),
                       s2s::Error);
}

TEST_CASE("an unknown custom recording is [data/no-custom-audio]") {
  CHECK_THROWS_WITH_AS(
      s2s::AudioLoader().custom(recording_cut("a.wav", 0, 1, 16000, 1), "noise", 16000),
      doctest::Contains("has no recording 'custom.noise'"), s2s::Error);
}

TEST_CASE("a command's audio; a command that fails and one that says nothing") {
  const s2s::test::AllowedCommands allowed;
  const TemporaryFolder dir;
  write_audio(dir / "a.wav", 16000, ramp(16000));
  s2s::Cut cut = recording_cut("pipe:cat '" + dir / "a.wav" + "'", 0.25, 0.5, 16000, 1);
  CHECK(at::equal(s2s::AudioLoader().source(cut, 16000), as_tensor(ramp(8000, 1, 4000))));
  cut.recording->sources[0] = {
      s2s::AudioSource::Type::kCommand, {0}, "cat '" + dir / "a.wav" + "'"};
  CHECK(at::equal(s2s::AudioLoader().source(cut, 16000), as_tensor(ramp(8000, 1, 4000))));
  cut.recording->sources[0].source = "echo 'no such tape' >&2; exit 7";
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 16000),
                       doctest::Contains("[data/pipe] cuts.jsonl:1: cut 'd0'"), s2s::Error);
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 16000), doctest::Contains("no such tape"),
                       s2s::Error);
  cut.recording->sources[0].source = "true";
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 16000),
                       doctest::Contains("cannot be read: it has zero bytes"), s2s::Error);
}

TEST_CASE("audio in a tar is read where it is; bytes without a member are refused") {
  const TemporaryFolder dir;
  std::string archive;
  s2s::files::TarWriter writer([&](std::string_view bytes) { archive += bytes; });
  const at::Tensor samples = as_tensor(ramp(16000));
  writer.add("other.flac", s2s::data::encode_audio(samples * 0.5, 16000, "flac"));
  const int64_t begin = writer.num_bytes();
  writer.add("d0.flac", s2s::data::encode_audio(samples, 16000, "flac"));
  const int64_t end = writer.num_bytes();
  writer.finish();
  s2s::Cut cut = recording_cut("", 0.25, 0.5, 16000, 1);
  cut.recording->sources[0] = {
      s2s::AudioSource::Type::kSharPointer, {0}, dir.write("a.tar", archive), begin, end};
  CHECK(at::equal(s2s::AudioLoader().source(cut, 16000), samples.narrow(0, 4000, 8000)));
  cut.recording->sources[0].end = begin + 600;
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 16000),
                       doctest::Contains("there is no member of the tar at these bytes"),
                       s2s::Error);
  cut.recording->sources[0].begin = begin + 512;
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 16000), doctest::Contains("[data/tar]"),
                       s2s::Error);
  cut.recording->sources[0] = {
      s2s::AudioSource::Type::kMemory,
      {0},
      "",
      0,
      0,
      std::make_shared<const std::string>(s2s::data::encode_audio(samples, 16000, "wav"))};
  CHECK(at::equal(s2s::AudioLoader().source(cut, 16000), samples.narrow(0, 4000, 8000)));
}

TEST_CASE("opus of 48 kHz is resampled to the manifest's rate; several threads load alike") {
  const TemporaryFolder dir;
  const at::Tensor tone = at::sin(at::arange(48000, at::kFloat) * 0.02) * 0.5;
  dir.write("a.opus", s2s::data::encode_audio(tone, 48000, "opus"));
  s2s::Cut cut = recording_cut(dir / "a.opus", 0.25, 0.5, 16000, 1);
  s2s::AudioLoader loader;
  const at::Tensor audio = loader.source(cut, 16000);
  REQUIRE(audio.size(0) == 8000);
  const at::Tensor expected = s2s::resample(tone, 48000, 16000).narrow(0, 4000, 8000);
  CHECK((audio - expected).abs().max().item<double>() < 0.3);  // another rate: 1
  std::vector<at::Tensor> loaded(4);
  std::vector<std::thread> threads;
  for (at::Tensor& result : loaded) {
    threads.emplace_back([&] { result = loader.source(cut, 22050); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const at::Tensor& result : loaded) CHECK(at::equal(result, loader.source(cut, 22050)));
}

TEST_CASE("a second of ten hours is read where it is") {
  const TemporaryFolder dir;
  const std::string path = dir / "long.wav";
  constexpr int64_t kRate = 8000, kSeconds = 36000;
  write_audio(path, kRate, ramp(2));
  // A hole in the file: zeros that take no room. The header's two lengths count the bytes.
  std::filesystem::resize_file(path, 44 + 2 * kRate * kSeconds);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto put = [&](int64_t at, int64_t value) {
    const auto number = static_cast<uint32_t>(value);
    file.seekp(at).write(reinterpret_cast<const char*>(&number), 4);
  };
  put(4, 36 + 2 * kRate * kSeconds);
  put(40, 2 * kRate * kSeconds);
  const int16_t mark = 16384;
  file.seekp(44 + 2 * (kRate * 30000 + 10)).write(reinterpret_cast<const char*>(&mark), 2);
  file.close();
  const s2s::Cut cut = recording_cut(path, 30000, 1, kRate, kSeconds);
  const at::Tensor audio = s2s::AudioLoader().source(cut, kRate);
  CHECK(audio.size(0) == kRate);
  CHECK(audio[10].item<float>() == 0.5F);
  CHECK(audio.abs().sum().item<float>() == 0.5F);
  CHECK(audio.storage().nbytes() < 100000);
}

TEST_CASE("mixes that cannot be made are [data/mix]") {
  const TemporaryFolder dir;
  write_audio(dir / "a.wav", 16000, ramp(16000));
  write_audio(dir / "b.wav", 8000, ramp(8000));
  const auto track = [](const s2s::Cut& cut) {
    s2s::MixTrack result;
    result.cut = std::make_shared<const s2s::Cut>(cut);
    return result;
  };
  s2s::Cut mix;
  mix.kind = s2s::Cut::Kind::kMixed;
  mix.id = "mix";
  mix.duration_s = 1;
  mix.tracks = {track(recording_cut(dir / "a.wav", 0, 1, 16000, 1)),
                track(recording_cut(dir / "b.wav", 0, 1, 8000, 1))};
  s2s::data::CutAudio audio;
  CHECK_THROWS_WITH_AS(audio.load(mix), doctest::Contains("of 16000 and of 8000 Hz"), s2s::Error);
  CHECK(audio.load(mix, 16000).size(1) == 16000);
  for (s2s::MixTrack& part : mix.tracks) part.snr_db = 10;
  CHECK_THROWS_WITH_AS(audio.load(mix, 16000), doctest::Contains("can be the reference"),
                       s2s::Error);
  mix.tracks.resize(1);
  mix.tracks[0].snr_db.reset();
  mix.duration_s = 3;
  CHECK_THROWS_WITH_AS(audio.load(mix), doctest::Contains("[data/mix]"), s2s::Error);
  mix.tracks[0].offset_s = mix.duration_s = 1e15;
  CHECK_THROWS_WITH_AS(audio.load(mix), doctest::Contains("more than a day"), s2s::Error);
  s2s::Cut silence;
  silence.kind = s2s::Cut::Kind::kPadding;
  silence.duration_s = 1e15;
  CHECK_THROWS_WITH_AS(audio.load(silence, 16000), doctest::Contains("[data/too-long]"),
                       s2s::Error);
}

TEST_CASE("silence after the agent's audio is no longer than a day") {
  const TemporaryFolder dir;
  write_audio(dir / "a.wav", 16000, ramp(16000));
  s2s::Cut cut = recording_cut(dir / "a.wav", 0, 1, 16000, 1);
  cut.set_custom("target_audio", *cut.recording);
  cut.set_custom("target_audio_unaligned", s2s::JsonText{"true"});
  s2s::Cut mix;
  mix.kind = s2s::Cut::Kind::kMixed;
  mix.id = "mix";
  mix.tracks.resize(1);
  mix.tracks[0].cut = std::make_shared<const s2s::Cut>(cut);
  mix.duration_s = cut.duration_s = 10;
  s2s::AudioLoader loader;
  CHECK(loader.target(cut, 16000).size(0) == 160000);
  CHECK(loader.target(mix, 16000).size(0) == 160000);
  mix.duration_s = cut.duration_s = 90000;
  for (const s2s::Cut& endless : {cut, mix}) {
    CHECK_THROWS_WITH_AS(loader.target(endless, 16000),
                         doctest::Contains("lasts 90000 s; expected at most a day"), s2s::Error);
  }
  CHECK_THROWS_WITH_AS(s2s::data::CutAudio().load_custom(mix, "target_audio", 16000),
                       doctest::Contains("[data/too-long]"), s2s::Error);
}

TEST_CASE("the tolerance is Lhotse's environment variable") {
  const TemporaryFolder dir;
  write_audio(dir / "a.wav", 16000, ramp(12000));
  const s2s::Cut cut = recording_cut(dir / "a.wav", 0, 1, 16000, 1);
  const char* const name = "LHOTSE_AUDIO_DURATION_MISMATCH_TOLERANCE";
  setenv(name, "0.1", 1);
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 16000),
                       doctest::Contains("[data/cut-too-long]"), s2s::Error);
  setenv(name, "half", 1);
  CHECK_THROWS_WITH_AS(s2s::AudioLoader().source(cut, 16000),
                       doctest::Contains("[data/audio-tolerance]"), s2s::Error);
  unsetenv(name);
  CHECK(s2s::AudioLoader().source(cut, 16000).size(0) == 16000);
}
