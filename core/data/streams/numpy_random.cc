#include "streams/numpy_random.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "streams/packed_text.h"
#include "streams/stream_errors.h"

namespace s2s::data {
namespace {

// Cumulative probabilities; the last one is exactly 1.
std::vector<double> cumulative(std::span<const double> probabilities) {
  std::vector<double> sums(probabilities.size());
  std::partial_sum(probabilities.begin(), probabilities.end(), sums.begin());
  if (sums.empty() || !(sums.back() > 0)) {
    throw stream_errors::empty_draw("the probabilities do not add up to more than 0");
  }
  const double total = sums.back();
  for (double& sum : sums) sum /= total;
  return sums;
}

}  // namespace

size_t NumpyGenerator::choice(std::span<const double> probabilities) {
  const std::vector<double> sums = cumulative(probabilities);
  return static_cast<size_t>(std::upper_bound(sums.begin(), sums.end(), random()) - sums.begin());
}

std::string NumpyGenerator::state() const {
  PackedWriter writer;
  for (const UInt128 number : {generator_.state, generator_.increment}) {
    for (int shift = 0; shift < 128; shift += 32) {
      writer.add_word(static_cast<uint32_t>(number >> shift));
    }
  }
  return writer.text();
}

void NumpyGenerator::restore(std::string_view state) {
  PackedReader reader(state);
  for (UInt128* number : {&generator_.state, &generator_.increment}) {
    *number = 0;
    for (int shift = 0; shift < 128; shift += 32) {
      *number |= static_cast<UInt128>(reader.next_word()) << shift;
    }
  }
}

}  // namespace s2s::data
