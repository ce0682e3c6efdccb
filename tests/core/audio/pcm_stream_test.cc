#include "audio/pcm_stream.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "common/contains.h"
#include "common/data_error_of.h"

using s2s::PcmStream;
using s2s::test::contains;

namespace {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

struct Format {
  uint16_t tag = 1, channels = 1;
  uint32_t rate_hz = 16000;
  uint16_t bits = 16;
};

/// A WAV file whose data chunk says `size` bytes.
std::string wav(const Format& format, const std::string& data, uint32_t size,
                const std::string& chunks = "") {
  const auto frame = static_cast<uint16_t>(format.channels * format.bits / 8);
  return "RIFF" + bytes_of<uint32_t>({0xFFFFFFFF}) + "WAVE" + chunks + "fmt " +
         bytes_of<uint32_t>({16}) + bytes_of<uint16_t>({format.tag, format.channels}) +
         bytes_of<uint32_t>({format.rate_hz, format.rate_hz * frame}) +
         bytes_of<uint16_t>({frame, format.bits}) + "data" + bytes_of<uint32_t>({size}) + data;
}

/// All samples of `bytes`, given `step` bytes at a time.
std::vector<float> samples_of(PcmStream& stream, const std::string& bytes, size_t step) {
  std::vector<at::Tensor> pieces;
  for (size_t at = 0; at < bytes.size(); at += step) {
    pieces.push_back(stream.add(std::string_view(bytes).substr(at, step)));
  }
  pieces.push_back(stream.finish());
  const at::Tensor all_S = at::cat(pieces).contiguous();
  return {all_S.data_ptr<float>(), all_S.data_ptr<float>() + all_S.numel()};
}

std::string error_of(const std::string& bytes, int64_t channel = 0) {
  return s2s::test::data_error_of([&] {
    PcmStream stream(channel, 16000);
    samples_of(stream, bytes, bytes.size());
  });
}

}  // namespace

TEST_CASE("raw samples are of 16 bits, in pieces of any size") {
  const std::string bytes = bytes_of<int16_t>({0, -32768, 16384, 1});
  for (const size_t step : {1, 2, 3, 5, 8}) {
    PcmStream stream(0, 8000);
    CHECK(samples_of(stream, bytes, step) == std::vector<float>{0, -1, 0.5F, 1 / 32768.0F});
    CHECK(stream.is_known());
    CHECK_FALSE(stream.is_wav());
    CHECK(stream.sample_rate_hz() == 8000);
    CHECK(stream.warning().empty());
  }
  PcmStream odd(0, 8000);
  CHECK(samples_of(odd, bytes + "x", 100).size() == 4);
  CHECK(odd.warning() == "standard input has 1 bytes after its last whole sample");
  PcmStream shortest(0, 8000);
  CHECK(samples_of(shortest, bytes.substr(0, 2), 1).size() == 1);
}

TEST_CASE("WAV of all usual types gives the same samples, with and without a length") {
  const std::vector<float> expected = {0, -1, 0.5F, -0.25F};
  const std::string wide = bytes_of<int32_t>({0, INT32_MIN, 1 << 30, -(1 << 29)});
  std::string middle;
  for (size_t i = 0; i < 4; ++i) middle += wide.substr(4 * i + 1, 3);
  const std::vector<std::pair<Format, std::string>> cases = {
      {{1, 1, 44100, 8}, bytes_of<uint8_t>({128, 0, 192, 96})},
      {{1, 1, 44100, 16}, bytes_of<int16_t>({0, -32768, 16384, -8192})},
      {{1, 1, 44100, 24}, middle},
      {{1, 1, 44100, 32}, wide},
      {{3, 1, 44100, 32}, bytes_of<float>({0, -1, 0.5F, -0.25F})},
      {{3, 1, 44100, 64}, bytes_of<double>({0, -1, 0.5, -0.25})}};
  for (const auto& [format, data] : cases) {
    CAPTURE(format.bits);
    const auto size = static_cast<uint32_t>(data.size());
    for (const uint32_t written : {size, 0U, 0xFFFFFFFFU, 0x7FFFFFFFU}) {
      for (const size_t step : {1, 7, 1000}) {
        PcmStream stream(0, 8000);
        CHECK(samples_of(stream, wav(format, data, written), step) == expected);
        CHECK(stream.is_wav());
        CHECK(stream.sample_rate_hz() == 44100);
        CHECK(stream.is_complete() == (written == size));
        CHECK(stream.warning().empty());
      }
    }
  }
}

TEST_CASE("a channel, other chunks, bytes after the samples, and a file that is cut off") {
  const std::string data = bytes_of<int16_t>({1, 16384, 2, -16384});
  const std::string note = "LIST" + bytes_of<uint32_t>({3}) + std::string("abc\0", 4);
  PcmStream stream(1, 8000);
  CHECK(samples_of(stream, wav({1, 2}, data, 8, note) + "LIST more", 5) ==
        std::vector<float>{0.5F, -0.5F});
  CHECK(stream.is_complete());
  CHECK(stream.warning().empty());
  PcmStream cut(0, 8000);
  CHECK(samples_of(cut, wav({1, 2}, data, 100), 50).size() == 2);
  CHECK(cut.warning() == "standard input ended 92 bytes before the end of its samples");
}

TEST_CASE("what is no audio is one message") {
  const std::string data = bytes_of<int16_t>({1, 2});
  CHECK(contains(error_of("fLaC" + data), "standard input cannot be read: it is FLAC; expected"));
  CHECK(contains(error_of("OggS" + data), "it is Ogg"));
  CHECK(contains(error_of("ID3\x04" + data), "it is MP3"));
  CHECK(contains(error_of("RIFX" + data), "it is RIFX"));
  CHECK(contains(error_of("RIFF1234AVI " + data), "it is RIFF, no WAV"));
  CHECK(contains(error_of("RIFF1234WAVE"), "its WAV header is cut off"));
  CHECK(contains(error_of("RIFF1234WAVEdata" + bytes_of<uint32_t>({4}) + data), "has no format"));
  CHECK(contains(error_of("RIFF1234WAVEfmt " + bytes_of<uint32_t>({4}) + data), "is cut off"));
  CHECK(contains(error_of("RIFF1234WAVELIST" + bytes_of<uint32_t>({0x7FFFFFFF})), "than 1 MiB"));
  CHECK(contains(error_of(wav({1, 0}, data, 4)), "0 channels at 16000 Hz"));
  CHECK(contains(error_of(wav({1, 1, 1}, data, 4)), "1 channels at 1 Hz"));
  CHECK(contains(error_of(wav({85, 1}, data, 4)), "format 85 with 16 bits per sample"));
  CHECK(contains(error_of(wav({1, 2}, data, 4), 2), "has no channel 2; expected 0 to 1"));
  CHECK(contains(error_of(data, 1), "has no channel 1; expected 0 to 0"));
  const std::string infinite = bytes_of<float>({INFINITY});
  CHECK(contains(error_of(wav({3, 1, 16000, 32}, infinite, 4)), "a sample is not finite"));
}
