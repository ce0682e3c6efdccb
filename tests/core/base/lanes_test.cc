// Lanes and LanePair are two shapes of the same sixteen elements: a processor runs one of the two,
// so both are compared here.
#include "base/lanes.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace {

/// What a body finds, element by element.
struct Found {
  float products[s2s::kLanes];
  float total;
  float totals[4];
  float rounded[s2s::kLanes];
  float widened[2 * s2s::kLanes];
  c10::BFloat16 stored[2 * s2s::kLanes];
};

struct Given {
  float a[4 * s2s::kLanes], b[s2s::kLanes];
  c10::BFloat16 narrow[2 * s2s::kLanes];
  Found* found;
};

template <class In>
struct Body {
  static S2S_BODY void run(const Given& given, int64_t, int64_t) {
    typename In::Type sums[4];
    for (int i = 0; i < 4; ++i) sums[i] = s2s::load_lanes<In>(given.a + i * s2s::kLanes);
    const auto products = sums[0] * s2s::load_lanes<In>(given.b);
    std::memcpy(given.found->products, &products, sizeof products);
    given.found->total = s2s::total(sums[1]);
    const auto totals = s2s::totals(sums);
    std::memcpy(given.found->totals, &totals, sizeof totals);
    const auto rounded = s2s::as_bfloat16(sums[2]);
    std::memcpy(given.found->rounded, &rounded, sizeof rounded);
    const auto wide = s2s::load_wide<In>(given.narrow);
    std::memcpy(given.found->widened, wide.parts, sizeof wide.parts);
    s2s::store_wide(wide, given.found->stored);
  }
};

}  // namespace

TEST_CASE("both shapes of sixteen elements give the same bits") {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Found whole, pair;
  Given given{{}, {}, {}, &whole};
  for (float& value : given.a) value = normal(random);
  for (float& value : given.b) value = normal(random);
  for (c10::BFloat16& value : given.narrow) value = normal(random);
  given.a[2 * s2s::kLanes] = std::numeric_limits<float>::infinity();
  given.a[3 * s2s::kLanes - 1] = -0.0F;
  s2s::run_any<Body<s2s::InLanes>>(given, 0, 0);
  given.found = &pair;
  s2s::run_any<Body<s2s::InPairs>>(given, 0, 0);
  CHECK(std::memcmp(whole.products, pair.products, sizeof pair.products) == 0);
  CHECK(whole.total == pair.total);
  CHECK(std::memcmp(whole.totals, pair.totals, sizeof pair.totals) == 0);
  CHECK(whole.totals[1] == whole.total);
  CHECK(std::memcmp(whole.rounded, pair.rounded, sizeof pair.rounded) == 0);
  CHECK(whole.rounded[1] == static_cast<float>(c10::BFloat16(given.a[2 * s2s::kLanes + 1])));
  // Even and odd elements lie in the same parts.
  CHECK(std::memcmp(whole.widened, pair.widened, sizeof pair.widened) == 0);
  CHECK(whole.widened[1] == static_cast<float>(given.narrow[2]));
  CHECK(std::memcmp(given.narrow, pair.stored, sizeof pair.stored) == 0);
  CHECK(std::memcmp(given.narrow, whole.stored, sizeof whole.stored) == 0);
}
