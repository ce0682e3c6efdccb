// Recordings of somebody else: their headers say how much memory resampling takes.

#include <ATen/Functions.h>
#include <doctest/doctest.h>

#include <fstream>

#include "audio/audio_reader.h"
#include "audio/wave_file.h"
#include "base/machine.h"
#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"
#include "s2s/error.h"

namespace {

using s2s::test::TemporaryFolder;

/// A WAV of one second, whose header then says another rate.
std::string wave_of_rate(const TemporaryFolder& folder, uint32_t rate_hz) {
  const std::string path = folder / (std::to_string(rate_hz) + ".wav");
  s2s::write_wave(path, at::ones({16000}) * 0.25, 16000);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(24);
  for (int i = 0; i < 4; ++i) file.put(static_cast<char>(rate_hz >> (8 * i) & 0xFFU));
  return path;
}

std::string wave_error_of(const std::string& path) {
  try {
    s2s::read_wave(path, 0, 16000);
    return "";
  } catch (const s2s::Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a recording is read at 1 kHz to 768 kHz") {
  const TemporaryFolder folder;
  const double before = static_cast<double>(s2s::peak_memory_bytes());
  for (const uint32_t rate_hz : {1U, 7U, 999U, 768001U, 0x7FFFFFFFU}) {
    CAPTURE(rate_hz);
    const std::string message = wave_error_of(wave_of_rate(folder, rate_hz));
    CHECK(message.find("[data/unreadable-audio]") != std::string::npos);
    CHECK(message.find("only 1000 to 768000 Hz are read") != std::string::npos);
    // The readers of data sets have the same rule.
    CHECK_THROWS_AS(s2s::data::AudioReader{wave_of_rate(folder, rate_hz)}, std::runtime_error);
  }
  for (const uint32_t rate_hz : {1000U, 8000U, 44100U, 768000U}) {
    CAPTURE(rate_hz);
    CHECK(wave_error_of(wave_of_rate(folder, rate_hz)).empty());
  }
  CHECK(static_cast<double>(s2s::peak_memory_bytes()) - before < 500e6);
}

TEST_CASE("a recording of more than an hour is refused before it is decoded") {
  const TemporaryFolder folder;
  const std::string path = folder / "long.wav";
  s2s::write_wave(path, at::zeros({1}), 1000);
  // A sparse file; the header has the sizes of one.
  constexpr uint32_t kBytes = 2 * 3601 * 1000;
  std::filesystem::resize_file(path, 44 + kBytes);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto put = [&file](int at, uint32_t value) {
    file.seekp(at);
    for (int i = 0; i < 4; ++i) file.put(static_cast<char>(value >> (8 * i) & 0xFFU));
  };
  put(4, 36 + kBytes);
  put(40, kBytes);
  file.close();
  CHECK(wave_error_of(path).find("[data/audio-length]") != std::string::npos);
  CHECK(wave_error_of(path).find("is 3601 s long; expected at most 3600 s") != std::string::npos);
}

TEST_CASE("a channel that is read piece by piece is the same") {
  const TemporaryFolder folder;
  const at::Tensor samples_S = at::rand({3'000'000}) - 0.5;
  s2s::write_wave(folder / "a.wav", samples_S, 16000);
  const at::Tensor whole_S = s2s::data::AudioReader(folder / "a.wav").read()[0];
  CHECK(s2s::read_wave(folder / "a.wav", 0, 16000).samples_S.equal(whole_S));
}

TEST_CASE("all channels of a file are read as each by itself") {
  const TemporaryFolder folder;
  const std::string path = folder / "stereo.wav";
  std::vector<float> samples;
  for (int i = 0; i < 30000; ++i) samples.push_back(static_cast<float>(i % 97) / 200);
  s2s::test::write_audio(path, 8000, samples, 3);
  for (const int64_t rate_hz : {8000, 16000}) {
    const std::vector<at::Tensor> all = s2s::read_channels(path, rate_hz);
    REQUIRE(all.size() == 3);
    for (int64_t c = 0; c < 3; ++c) {
      CHECK(all[static_cast<size_t>(c)].equal(s2s::read_wave(path, c, rate_hz).samples_S));
    }
  }
  s2s::test::write_audio(path, 8000, {}, 2);
  CHECK(wave_error_of(path).find("[data/empty-audio]") != std::string::npos);
  const std::vector<at::Tensor> none = s2s::read_channels(path, 16000);
  REQUIRE(none.size() == 2);
  CHECK(none[1].numel() == 0);
}
