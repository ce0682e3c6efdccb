#include <ATen/CPUGeneratorImpl.h>
#include <doctest/doctest.h>

#include "s2s/scores/turn_taking.h"

namespace s2s {
namespace {

constexpr int64_t kRate = 16000;

/// A tone in the given stretches over white noise of the given level.
at::Tensor tone(double duration_s, const std::vector<SpeechSegment>& speech, double noise_db,
                double level = 0.3) {
  const auto num_samples = static_cast<int64_t>(duration_s * kRate);
  auto generator = at::make_generator<at::CPUGeneratorImpl>(7);
  at::Tensor samples_S = at::randn({num_samples}, generator) * std::pow(10.0, noise_db / 20);
  for (const SpeechSegment& part : speech) {
    const auto first = static_cast<int64_t>(part.start_s * kRate);
    const auto count = static_cast<int64_t>((part.end_s - part.start_s) * kRate);
    samples_S.narrow(0, first, count) += at::sin(at::arange(count) * 0.1) * level;
  }
  return samples_S;
}

void check_segments(const std::vector<SpeechSegment>& found,
                    const std::vector<SpeechSegment>& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CHECK(std::abs(found[i].start_s - expected[i].start_s) <= 0.08);
    CHECK(std::abs(found[i].end_s - expected[i].end_s) <= 0.08);
  }
}

TEST_CASE("speech is found to the frame, over silence and over noise") {
  const std::vector<SpeechSegment> speech = {{0.8, 2.0}, {3.2, 4.0}};
  check_segments(find_speech(tone(6, speech, -200), kRate), speech);
  check_segments(find_speech(tone(6, speech, -40), kRate), speech);
  check_segments(find_speech(tone(6, speech, -20), kRate), speech);
  check_segments(find_speech(tone(6, speech, -70, 0.01), kRate), speech);
}

TEST_CASE("silence and faint noise hold no speech") {
  CHECK(find_speech(at::zeros({kRate}), kRate).empty());
  CHECK(find_speech(tone(2, {}, -60), kRate).empty());
  CHECK(find_speech(at::Tensor(), kRate).empty());
  CHECK(find_speech(at::zeros({0}), kRate).empty());
}

TEST_CASE("short gaps are bridged and clicks are dropped") {
  check_segments(find_speech(tone(5, {{1.0, 1.6}, {1.76, 2.4}}, -90), kRate), {{1.0, 2.4}});
  CHECK(find_speech(tone(5, {{1.04, 1.1}}, -90), kRate).empty());
}

TEST_CASE("a segment that fades is followed until the lower threshold") {
  at::Tensor samples_S = tone(3, {{0.8, 2.4}}, -90, 0.3);
  // The second half is 28 dB down: below the start threshold, above the stop threshold.
  samples_S.narrow(0, static_cast<int64_t>(1.6 * kRate), static_cast<int64_t>(0.8 * kRate)) *= 0.04;
  check_segments(find_speech(samples_S, kRate), {{0.8, 2.4}});
}

TEST_CASE("seconds of speech and of overlap add up") {
  CHECK(speech_seconds({{0, 1}, {2, 2.5}}) == doctest::Approx(1.5));
  CHECK(overlap_seconds({{0, 1}, {2, 3}}, {{0.5, 2.25}}) == doctest::Approx(0.75));
}

}  // namespace
}  // namespace s2s
