#include "eval/report/audio_encoding.h"

#include <doctest/doctest.h>
#include <sndfile.h>

#include <cmath>

#include "base/text.h"
#include "common/places.h"
#include "s2s/error.h"

namespace s2s {
namespace {

AudioClip sine(int64_t rate) {
  return {at::sin(at::arange(rate * 2) * (2 * M_PI * 300 / static_cast<double>(rate))) * 0.5, rate};
}

/// Reads a file of the test's own folder back.
std::vector<float> read_back(const std::string& bytes, SF_INFO& info) {
  const std::string path = s2s::test::binary_dir() + "/audio_encoding_test.bin";
  write_bytes(path, bytes);
  SNDFILE* file = sf_open(path.c_str(), SFM_READ, &info);
  REQUIRE(file != nullptr);
  std::vector<float> samples(static_cast<size_t>(info.frames));
  CHECK(sf_read_float(file, samples.data(), info.frames) == info.frames);
  sf_close(file);
  return samples;
}

TEST_CASE("audio survives encoding at the codecs' rates") {
  for (const int64_t rate : {16000, 22050, 24000}) {
    const AudioClip clip = sine(rate);
    for (const auto encoding : {AudioEncoding::kOggVorbis, AudioEncoding::kWav}) {
      SF_INFO info = {};
      const std::string bytes = encode_audio(clip, encoding);
      const std::vector<float> back = read_back(bytes, info);
      CHECK(info.samplerate == rate);
      REQUIRE(static_cast<int64_t>(back.size()) == clip.samples_S.numel());
      const at::Tensor error = at::tensor(back) - clip.samples_S;
      CHECK(error.square().mean().sqrt().item<double>() < 0.02);
      if (encoding == AudioEncoding::kOggVorbis) CHECK(bytes.size() < 20000);
    }
  }
}

TEST_CASE("empty, too loud and broken audio can be encoded") {
  SF_INFO info = {};
  CHECK(read_back(encode_audio({at::Tensor(), 16000}, AudioEncoding::kWav), info).size() == 1);
  info = {};
  at::Tensor loud = at::full({100}, 3.0);
  loud[0] = std::nan("");
  const auto back = read_back(encode_audio({loud, 16000}, AudioEncoding::kWav), info);
  CHECK(back[0] == 0);
  CHECK(back[1] == doctest::Approx(1).epsilon(0.001));
}

TEST_CASE("base64 is the standard's") {
  CHECK(to_base64("") == "");
  CHECK(to_base64("f") == "Zg==");
  CHECK(to_base64("fo") == "Zm8=");
  CHECK(to_base64("foobar") == "Zm9vYmFy");
  CHECK(data_uri("image/png", "\xFF") == "data:image/png;base64,/w==");
}

TEST_CASE("a report that cannot be written says so") {
  try {
    write_bytes("/no/such/folder/x.wav", "x");
    FAIL("expected an error");
  } catch (const Error& error) {
    CHECK(error.id() == "eval/report-write");
    CHECK(error.message().find("/no/such/folder/x.wav") != std::string::npos);
    CHECK(error.exit_code() == ExitCode::kData);
  }
}

}  // namespace
}  // namespace s2s
