#pragma once
// Mixes noise into cuts.

#include "loader/dataset_scope.h"
#include "streams/combinators.h"

namespace s2s::data {

struct NoiseOptions {
  double min_snr_db = 10;
  double max_snr_db = 20;
  double share = 0.5;  // of the cuts that get noise
  int64_t seed = 0;    // a pass draws with seed + pass + first_pass
  int64_t first_pass = 0;
  int64_t buffer_size = 2000;
};

/// Mixes pieces of `noise` into cuts; the pieces together are as long as the cut. `noise` is read
/// repeatedly in a shuffled order.
/// Key: number of pieces, the ratio, for each piece its offset, the length of its key and its key;
/// then the source's key.
/// Errors: [data/empty] when there is no noise.
/// Source: lhotse LazyCutMixer with random_mix_offset.
StreamPtr mix_in_noise(StreamPtr source, StreamPtr noise, const NoiseOptions& options);

/// Opens what noise_path names.
StreamPtr open_noise(const DatasetScope& scope);

}  // namespace s2s::data
