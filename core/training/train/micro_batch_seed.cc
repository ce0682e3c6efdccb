#include "train/micro_batch_seed.h"

#include <ATen/Context.h>

namespace s2s {
namespace {

/// Source: SplitMix64 (Steele, Lea, Flood 2014), one step.
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace

void seed_generators(uint64_t seed, const MicroBatchPlace& place) {
  at::manual_seed(mixed(mixed(seed) ^ static_cast<uint64_t>(place.number())));
}

}  // namespace s2s
