#include "s2s/data/frames.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "common/reference_json.h"
#include "s2s/error.h"

TEST_CASE("frame and sample counts equal lhotse's on durations that are easy to get wrong") {
  const auto golden = s2s::test::reference_json("frames.json.gz");
  for (const auto& row : golden["num_frames"]) {
    CAPTURE(row.dump());
    CHECK(s2s::compute_num_frames(row[0], row[1], row[2]) == row[3].get<int64_t>());
  }
  for (const auto& row : golden["num_samples"]) {
    CAPTURE(row.dump());
    CHECK(s2s::compute_num_samples(row[0], row[1]) == row[2].get<int64_t>());
  }
  CHECK(golden["num_frames"].size() + golden["num_samples"].size() > 4000);
}

// Values of lhotse 1.33.0.
TEST_CASE("negative durations give negative counts, rounded as Python rounds them") {
  CHECK(s2s::compute_num_frames(-0.3, 0.08, 16000) == -4);
  CHECK(s2s::compute_num_frames(-0.0005, 0.08, 16000) == 0);
  CHECK(s2s::compute_num_samples(-0.6921099407435162, 48000) == -33221);
}

TEST_CASE("one second at 16 kHz is thirteen frames of 80 ms, because halves count up") {
  CHECK(s2s::compute_num_frames(1.0, 0.08, 16000) == 13);
  CHECK(s2s::compute_num_frames(10.7, 0.08, 16000) == 134);
  CHECK(s2s::compute_num_frames_from_samples(640, 0.08, 16000) == 1);
  CHECK(s2s::compute_num_frames_from_samples(639, 0.08, 16000) == 0);
}

TEST_CASE("a frame shorter than a sample and a rate of zero are [data/frames]") {
  CHECK_THROWS_WITH_AS(s2s::compute_num_frames(1, 1e-6, 16000), doctest::Contains("[data/frames]"),
                       s2s::Error);
  CHECK_THROWS_WITH_AS(s2s::compute_num_frames(1, 0.08, 0), doctest::Contains("[data/frames]"),
                       s2s::Error);
}

TEST_CASE("times are stored with eight decimals") {
  CHECK(s2s::round_time(0.1 + 0.2) == 0.3);
  CHECK(s2s::round_time(1.0 / 3.0) == 0.33333333);
}
