#include "base/whole_number.h"

#include <doctest/doctest.h>

#include <limits>

#include "s2s/data/frames.h"

TEST_CASE("a foreign number that no count can be is the largest one, and sums do not overflow") {
  constexpr int64_t kMost = int64_t{1} << 53;
  CHECK(s2s::to_whole(2.9) == 2);
  CHECK(s2s::to_whole(-2.9) == -2);
  CHECK(s2s::to_whole(9007199254740991.0) == kMost - 1);
  CHECK(s2s::to_whole(1e300) == kMost);
  CHECK(s2s::to_whole(-std::numeric_limits<double>::infinity()) == -kMost);
  CHECK(s2s::to_whole(std::numeric_limits<double>::quiet_NaN()) == 0);
  CHECK(s2s::compute_num_samples(-1e300, 16000) == -kMost);
  CHECK(s2s::compute_num_samples(1e15, 16000) == kMost);
  CHECK(s2s::compute_num_frames(1e300, 0.01, 16000) == kMost / 160);
}
