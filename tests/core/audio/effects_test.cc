#include "audio/effects.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

#include "audio/audio_mixer.h"
#include "audio/random_room.h"
#include "audio/tempo.h"
#include "common/packed_safetensors.h"

namespace {

at::Tensor tone(double hertz, double amplitude, int64_t rate, double seconds) {
  const at::Tensor t =
      at::arange(static_cast<int64_t>(seconds * static_cast<double>(rate)), at::kDouble) / rate;
  return (amplitude * at::sin(2 * M_PI * hertz * t)).to(at::kFloat).unsqueeze(0);
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

}  // namespace

// ITU-R BS.1770: a sine of 997 Hz at full scale in one channel has -3.01 LUFS.
TEST_CASE("loudness of the standard's tone; twice as many channels are 3 LU louder") {
  const at::Tensor mono = tone(997, 1.0, 48000, 2.0);
  const double loudness = s2s::data::measure_loudness(mono, 48000, 0.4);
  CHECK(loudness == doctest::Approx(-3.01).epsilon(0.02));
  const double both = s2s::data::measure_loudness(mono.repeat({2, 1}), 48000, 0.4);
  CHECK(both - loudness == doctest::Approx(3.01).epsilon(0.01));
}

TEST_CASE("loudness is brought to its target; silence stays silence; six channels are refused") {
  const at::Tensor audio = tone(300, 0.05, 16000, 1.5);
  const at::Tensor louder = s2s::data::normalize_loudness(audio, -20, 16000);
  CHECK(s2s::data::measure_loudness(louder, 16000, 0.4) == doctest::Approx(-20).epsilon(1e-4));
  const at::Tensor silence = at::zeros({1, 16000});
  CHECK(at::equal(s2s::data::normalize_loudness(silence, -20, 16000), silence));
  CHECK_THROWS_WITH(s2s::data::normalize_loudness(at::rand({6, 16000}), -20, 16000),
                    doctest::Contains("at most five channels, there are 6"));
}

TEST_CASE("an impulse response of one impulse changes nothing but the level, wherever it is") {
  const at::Tensor audio = at::rand({2, 1000}) - 0.5;
  at::Tensor response = at::zeros({1, 200});
  response[0][77] = 0.8F;
  CHECK(largest_difference(s2s::data::reverberate(audio, response, true), audio) < 1e-5);
  const at::Tensor weak = s2s::data::reverberate(audio, response, false);
  CHECK(largest_difference(weak, audio * 0.8 / 32768) < 1e-8);
  CHECK(s2s::data::reverberate(audio[0].unsqueeze(0), at::rand({3, 50}), true).size(0) == 3);
  CHECK_THROWS_WITH(s2s::data::reverberate(audio, at::rand({3, 50}), true),
                    doctest::Contains("2 channels and an impulse response of 3"));
}

TEST_CASE("made-up rooms repeat with their seeds, and other seeds are other rooms") {
  s2s::data::RandomRoom room;
  room.room_seed = 5;
  const at::Tensor one = s2s::data::random_response(room);
  CHECK(at::equal(one, s2s::data::random_response(room)));
  CHECK(one.size(1) >= 1600);
  CHECK(one.size(1) <= 12801);
  room.source_seed = 1;
  const at::Tensor other = s2s::data::random_response(room);
  REQUIRE(other.sizes() == one.sizes());  // the room's length, not the source's place
  CHECK_FALSE(at::equal(one, other));
}

TEST_CASE("tempo equals SoX's") {
  const auto file = s2s::test::packed_safetensors("sox_tempo.safetensors.gz");
  int checked = 0;
  for (const auto& [name, entry] : file.entries()) {
    if (!name.starts_with("output/")) continue;
    CAPTURE(name);
    const size_t slash = name.find('/', 7);
    const at::Tensor input = file.tensor("input/" + name.substr(7, slash - 7));
    const double factor = std::stod(name.substr(slash + 1));
    const at::Tensor ours = s2s::data::change_tempo(input, factor, 8000);
    const at::Tensor expected = file.tensor(name);
    REQUIRE(ours.sizes() == expected.sizes());
    CHECK(largest_difference(ours, expected) < 1e-6);
    ++checked;
  }
  CHECK(checked == 8);
}

TEST_CASE("clipping keeps silence, never passes the peak, and is exact below it when hard") {
  const at::Tensor audio = tone(100, 0.4, 8000, 0.1);
  CHECK(at::equal(s2s::data::clip_amplitude(audio * 1e-6, {}), audio * 1e-6));
  const at::Tensor hard = s2s::data::clip_amplitude(audio, {true, 6.0, true});
  CHECK(hard.abs().max().item<double>() ==
        doctest::Approx(0.4 / std::pow(10.0, 0.3)).epsilon(1e-4));
  const at::Tensor quiet = (audio.abs() < 0.19).to(at::kFloat);
  CHECK(largest_difference(hard * quiet, audio * quiet) < 1e-6);
}

TEST_CASE("a mixer adds tracks where they begin, mono ones to all channels") {
  s2s::data::AudioMixer mixer;
  mixer.add(at::full({1, 3}, 1.0F), 1);
  mixer.add(at::tensor({1.0F, 2.0F, 3.0F, 4.0F}).view({2, 2}), 4);
  CHECK(at::equal(mixer.mixed(), at::tensor({0.0F, 1.0F, 1.0F, 1.0F, 1.0F, 2.0F,  //
                                             0.0F, 1.0F, 1.0F, 1.0F, 3.0F, 4.0F})
                                     .view({2, 6})));
  CHECK_THROWS_WITH(mixer.add(at::zeros({3, 1}), 0), "tracks of 2 and of 3 channels");
  CHECK(s2s::data::audio_energy(at::tensor({1.0F, 3.0F})) == 5.0);
  const at::Tensor scaled = s2s::data::at_ratio(at::full({1, 4}, 2.0F), 10, 1.0);
  CHECK(s2s::data::audio_energy(scaled) == doctest::Approx(0.1).epsilon(1e-6));
}
