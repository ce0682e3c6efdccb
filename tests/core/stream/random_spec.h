#pragma once
// Random pipelines for tests of positions.

#include "core/stream/stream_of_spec.h"

namespace s2s::data {

/// A random stream; `depth` operations at most lie upon each other. What may drop everything is
/// above what ends.
inline json random_stream_spec(PythonRandom& rng, int depth, bool ends = false) {
  static int64_t number = 0;
  const auto source = [&] { return random_stream_spec(rng, depth - 1, ends); };
  const auto ending = [&] { return random_stream_spec(rng, depth - 1, true); };
  const auto several = [&](const auto& one) {
    json specs = json::array();
    for (int64_t left = rng.randint(1, 4); left > 0; --left) specs.push_back(one());
    return specs;
  };
  const auto sources = [&] { return several(source); };
  const auto seed = rng.randint(0, 1000);
  const char* shapes[] = {"uniform", "equal", "short", "skewed", "tail"};
  if (depth == 0) {
    return {{"op", "cuts"},
            {"name", "n" + std::to_string(number++) + "-"},
            {"count", rng.randint(0, 9) == 0 ? 0 : rng.randint(1, 90)},
            {"seed", seed},
            {"shape", shapes[rng.choice(5)]}};
  }
  switch (ends ? rng.randint(1, 9) : rng.randint(0, 9)) {
    case 0:
      return {
          {"op", "infinite_mux"}, {"of", sources()}, {"seed", seed}, {"open", rng.randint(1, 3)}};
    case 1:
      return {{"op", "chain"},
              {"of", several(ending)},
              {"order", "shuffled"},
              {"seed", seed},
              {"slice", rng.randint(1, 60)}};
    case 2:
      return {{"op", "mux"}, {"of", sources()}, {"seed", seed}};
    case 3:
      return {{"op", "chain"}, {"of", sources()}, {"order", "shuffled_on"}, {"seed", seed}};
    case 4:
      return {{"op", "repeat"}, {"of", source()}, {"times", rng.randint(1, 3)}};
    case 5:
      return {{"op", "shuffle"},
              {"of", source()},
              {"buffer", rng.randint(1, 200)},
              {"seed", seed},
              {"keep_cuts", rng.randint(0, 1) == 1}};
    case 6:
      return {{"op", "filter"}, {"of", ending()}, {"min", 2}};
    case 7:
      return {{"op", "flat_map"}, {"of", ending()}};
    case 8:
      return {{"op", "draw"}, {"of", source()}, {"seed", seed}};
    default:
      return {{"op", "every"}, {"of", source()}, {"k", 1}, {"n", 2}};
  }
}

inline json finite_stream_spec(PythonRandom& rng, int depth) {
  return random_stream_spec(rng, depth, true);
}

}  // namespace s2s::data
