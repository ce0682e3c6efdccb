#include "audio/audio_reader.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "audio/encode_audio.h"
#include "common/temporary_folder.h"
#include "s2s/error.h"

namespace {

using s2s::data::AudioReader;
using s2s::data::encode_audio;
using s2s::test::TemporaryFolder;

/// [C, S] on the grid of 16 bits: two tones a channel.
at::Tensor tones(int64_t num_channels, int64_t num_samples) {
  const at::Tensor t = at::arange(num_samples, at::kFloat) * 0.05;
  std::vector<at::Tensor> rows;
  for (int64_t c = 0; c < num_channels; ++c) {
    rows.push_back(0.4 * at::sin(t * (c + 1)) + 0.2 * at::sin(t * 0.31 * (c + 2)));
  }
  return (at::stack(rows) * 32768).round() / 32768;
}

std::shared_ptr<const std::string> shared(std::string bytes) {
  return std::make_shared<const std::string>(std::move(bytes));
}

}  // namespace

TEST_CASE("formats that lose nothing give back every sample, from a file, a part and memory") {
  const TemporaryFolder dir;
  const at::Tensor audio = tones(2, 5000);
  for (const char* format : {"wav", "wav_float", "flac", "aiff", "w64", "caf", "au"}) {
    CAPTURE(format);
    const std::string bytes = encode_audio(audio, 16000, format);
    const auto size = static_cast<int64_t>(bytes.size());
    const std::string whole = dir.write("whole", bytes);
    const std::string part = dir.write("part", "before" + bytes + "after");
    AudioReader file(whole), range(part, 6, 6 + size), memory(shared(bytes));
    for (AudioReader* reader : {&file, &range, &memory}) {
      CHECK(reader->info().sample_rate_hz == 16000);
      CHECK(reader->info().num_samples == 5000);
      CHECK(reader->info().num_channels == 2);
      CHECK(at::equal(reader->read(), audio));
      CHECK(at::equal(reader->read(4000, 300), audio.narrow(1, 4000, 300)));
      CHECK(at::equal(reader->read(0, 10), audio.narrow(1, 0, 10)));
      CHECK(reader->read(4990, 20).size(1) == 10);
      CHECK(reader->read(5000, 20).size(1) == 0);
    }
    const std::string expected = std::string(format) == "wav_float" ? "wav" : format;
    CHECK(file.info().format == expected);
  }
}

TEST_CASE("lossy formats keep rate and length; a stretch is where it is in the whole") {
  const at::Tensor audio = tones(1, 48000);
  for (const auto& [format, rate] : std::vector<std::pair<std::string, int64_t>>{
           {"mp3", 16000}, {"mp3", 44100}, {"ogg", 22050}, {"opus", 48000}, {"opus", 16000}}) {
    CAPTURE(format);
    CAPTURE(rate);
    AudioReader reader(shared(encode_audio(audio, rate, format)));
    CHECK(reader.info().sample_rate_hz == rate);
    CHECK(reader.info().format == format);
    CHECK(reader.info().num_channels == 1);
    CHECK(std::abs(reader.info().num_samples - 48000) <= 1152);
    const at::Tensor all = reader.read();
    CHECK(all.size(1) == reader.info().num_samples);
    const at::Tensor part = reader.read(20000, 2000);
    CHECK((part - all.narrow(1, 20000, 2000)).abs().max().item<double>() < 2e-3);
  }
}

TEST_CASE("more compression gives fewer bytes; opus is written at 48 kHz") {
  const at::Tensor audio = at::rand({1, 48000}) - 0.5;
  const size_t large = encode_audio(audio, 48000, "ogg", 0.1).size();
  CHECK(encode_audio(audio, 48000, "ogg", 0.9).size() < large);
  CHECK(s2s::data::rate_to_encode("opus", 16000) == 48000);
  CHECK(s2s::data::rate_to_encode("flac", 16000) == 16000);
}

TEST_CASE("integers are clipped, not wrapped") {
  const at::Tensor audio = at::tensor({-2.0F, 2.0F, 0.5F, 0.0F});
  AudioReader reader(shared(encode_audio(audio, 8000, "wav")));
  CHECK(at::allclose(reader.read()[0], at::tensor({-1.0F, 1.0F, 0.5F, 0.0F}), 0, 1e-4));
}

TEST_CASE("an unknown format and a rate that a format does not take are [data/audio-format]") {
  const at::Tensor audio = tones(1, 100);
  CHECK_THROWS_WITH_AS(encode_audio(audio, 16000, "wma"),
                       doctest::Contains("cannot be written as 'wma'; expected one of wav, "),
                       s2s::Error);
  CHECK_THROWS_WITH_AS(encode_audio(audio, 22050, "opus"), doctest::Contains("[data/audio-format]"),
                       s2s::Error);
}

TEST_CASE("what is no audio, empty, missing or a folder says so") {
  const TemporaryFolder dir;
  const std::string empty = dir.write("empty.wav", "");
  CHECK_THROWS_WITH(AudioReader{empty}, "it has zero bytes");
  const std::string text = dir.write("text.wav", "this is not audio, it is a line of text");
  CHECK_THROWS_WITH(AudioReader{text}, doctest::Contains("ormat not recogni"));
  CHECK_THROWS_WITH(AudioReader{dir / "missing.wav"}, "No such file or directory");
  CHECK_THROWS_WITH(AudioReader{dir.path().string()}, "Is a directory");
}

TEST_CASE("a named pipe and a device are no audio files, and nobody waits for them") {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe.wav";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {pipe, std::string("/dev/zero")}) {
    CHECK_THROWS_WITH_AS(AudioReader{path}, "it is not a file", std::runtime_error);
  }
}

TEST_CASE("a file that was cut off is read up to there; a read after that says how much there is") {
  const at::Tensor audio = tones(1, 20000);
  for (const char* format : {"wav", "flac"}) {
    CAPTURE(format);
    const std::string bytes = encode_audio(audio, 16000, format);
    AudioReader reader(shared(bytes.substr(0, bytes.size() / 2)));
    CHECK(at::equal(reader.read(100, 4000), audio.narrow(1, 100, 4000)));
    CHECK_THROWS_WITH(reader.read(100, 19900),
                      doctest::Contains("it is cut off: of 20000 samples"));
  }
}

TEST_CASE("a list that is longer than its file keeps nobody busy, one that is whole is read over") {
  for (const char* const mark : {"RIFF", "RF64"}) {
    // libsndfile would look for parts of the list through 1.4 GB that are not there.
    const std::string bomb = std::string(mark) + std::string("\xec\0\0\0WAVELIST\x10\0\0\x52", 16) +
                             "fLaC" + std::string(40, '\xff');
    CHECK_THROWS_WITH_AS(AudioReader(shared(bomb)), doctest::Contains("its LIST chunk says"),
                         std::runtime_error);
  }
  std::string wave = encode_audio(tones(1, 500), 16000, "wav");
  wave.insert(12, std::string("LIST\x0c\0\0\0INFOISFT\0\0\0\0", 20));
  CHECK(AudioReader(shared(wave)).read().size(1) == 500);
}

TEST_CASE("a WAV file from a pipe, which does not know its length, is read to its end") {
  std::string bytes = encode_audio(tones(1, 3000), 16000, "wav");
  const size_t size_at = bytes.find("data") + 4;
  for (const char* size : {"\xff\xff\xff\xff", "\x00\xf0\xff\x7f"}) {
    bytes.replace(size_at, 4, std::string(size, 4));
    AudioReader reader(shared(bytes));
    CHECK(at::equal(reader.read(), tones(1, 3000)));
    CHECK(reader.read(2000, 5000).size(1) == 1000);
  }
}

TEST_CASE("a FLAC stream without its number of samples is counted") {
  std::string bytes = encode_audio(tones(1, 30000), 16000, "flac");
  // STREAMINFO begins at byte 8; the number has 36 bits, from the middle of its byte 13.
  bytes[21] = static_cast<char>(bytes[21] & 0xF0);
  for (size_t i = 22; i < 26; ++i) bytes[i] = 0;
  AudioReader reader(shared(bytes));
  CHECK(reader.info().num_samples == 30000);
  CHECK(at::equal(reader.read(), tones(1, 30000)));
}
