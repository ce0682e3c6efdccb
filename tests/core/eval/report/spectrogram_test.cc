#include "eval/report/spectrogram.h"

#include <doctest/doctest.h>
#include <zlib.h>

namespace s2s {
namespace {

AudioClip sine(double hertz, double level, double duration_s = 1) {
  const at::Tensor time_S = at::arange(static_cast<int64_t>(16000 * duration_s)) / 16000.0;
  return {at::sin(time_S * (2 * M_PI * hertz)) * level, 16000};
}

/// Bytes of the first chunk of a type.
std::string chunk(const std::string& png, const std::string& type) {
  const size_t at = png.find(type);
  REQUIRE(at != std::string::npos);
  uint32_t size = 0;
  for (size_t i = at - 4; i < at; ++i) size = size << 8 | static_cast<unsigned char>(png[i]);
  const std::string body = png.substr(at, size + 4);
  const uLong checksum = crc32(0, reinterpret_cast<const Bytef*>(body.data()), size + 4);
  uint32_t stored = 0;
  for (size_t i = 0; i < 4; ++i) {
    stored = stored << 8 | static_cast<unsigned char>(png[at + 4 + size + i]);
  }
  CHECK(stored == checksum);
  return body.substr(4);
}

TEST_CASE("a full-scale sine is at 0 dB in its band") {
  const at::Tensor levels_FT = mel_levels_db(sine(1000, 1));
  CHECK(levels_FT.size(0) == 64);
  CHECK(levels_FT.size(1) == 51);
  const at::Tensor middle_F = levels_FT.select(1, 25);
  CHECK(std::abs(middle_F.max().item<double>()) < 3);
  const double quieter = mel_levels_db(sine(1000, 0.1)).select(1, 25).max().item<double>();
  CHECK(quieter == doctest::Approx(middle_F.max().item<double>() - 20).epsilon(0.01));
  CHECK(mel_levels_db(sine(4000, 1)).select(1, 25).argmax().item<int64_t>() >
        middle_F.argmax().item<int64_t>());
}

TEST_CASE("a spectrogram is a PNG with whole chunks, low bands at the bottom") {
  const std::string png = spectrogram_png(sine(200, 0.5));
  CHECK(png.substr(0, 8) == std::string("\x89PNG\r\n\x1a\n"));
  const std::string header = chunk(png, "IHDR");
  CHECK(static_cast<unsigned char>(header[3]) == 51);
  CHECK(static_cast<unsigned char>(header[7]) == 64);
  CHECK(chunk(png, "PLTE").size() == 32 * 3);
  const std::string packed = chunk(png, "IDAT");
  std::string rows(64 * 52, '\0');
  uLongf size = rows.size();
  REQUIRE(uncompress(reinterpret_cast<Bytef*>(rows.data()), &size,
                     reinterpret_cast<const Bytef*>(packed.data()), packed.size()) == Z_OK);
  CHECK(size == 64 * 52);
  size_t brightest = 0;
  for (size_t y = 0; y < 64; ++y) {
    if (rows[y * 52 + 26] > rows[brightest * 52 + 26]) brightest = y;
  }
  CHECK(brightest > 48);
}

TEST_CASE("pictures share one scale whatever a clip's loudness") {
  CHECK(spectrogram_png(sine(500, 0.5)) != spectrogram_png(sine(500, 0.05)));
}

}  // namespace
}  // namespace s2s
