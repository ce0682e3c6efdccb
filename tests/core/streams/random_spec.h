#pragma once
// Random pipelines for tests of positions.

#include "core/streams/stream_of_spec.h"

namespace s2s::data {

/// A random stream without draws; `depth` operations at most lie upon each other. What may drop
/// everything is above what ends.
inline json random_input_spec(PythonRandom& rng, int depth, bool ends) {
  static int64_t number = 0;
  const auto source = [&] { return random_input_spec(rng, depth - 1, ends); };
  const auto ending = [&] { return random_input_spec(rng, depth - 1, true); };
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
  switch (ends ? rng.randint(2, 7) : rng.randint(0, 7)) {
    case 0:
      return {
          {"op", "infinite_mux"}, {"of", sources()}, {"seed", seed}, {"open", rng.randint(1, 3)}};
    case 1:
      return {{"op", "repeat"}, {"of", ending()}, {"preserve_id", rng.randint(0, 1) == 1}};
    case 2:
      return {{"op", "mux"}, {"of", sources()}, {"seed", seed}};
    case 3:
      return {{"op", "chain"}, {"of", several(ending)}};
    case 4:
      return {{"op", "shuffle"}, {"of", source()}, {"buffer", rng.randint(1, 200)}, {"seed", seed}};
    case 5:
      return {{"op", "filter"}, {"of", ending()}, {"min", 2}};
    case 6:
      return {{"op", "flat_map"}, {"of", ending()}};
    default:
      return {{"op", "first"}, {"of", source()}, {"count", rng.randint(1, 90)}};
  }
}

/// A random stream; some have draws on top, where a loader has them (map_with_draws).
inline json random_stream_spec(PythonRandom& rng, int depth, bool ends = false) {
  json spec = random_input_spec(rng, depth, ends);
  if (rng.randint(0, 3) != 0) return spec;
  return {{"op", "draw"}, {"of", std::move(spec)}, {"seed", rng.randint(0, 1000)}};
}

inline json finite_stream_spec(PythonRandom& rng, int depth) {
  return random_stream_spec(rng, depth, true);
}

}  // namespace s2s::data
