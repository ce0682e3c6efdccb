#include "nn/kernels/striding_kernels.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/lanes.h"

namespace s2s::striding {
namespace {

S2S_BODY Lanes positive(const Lanes& value) { return value > 0 ? value : Lanes{}; }

struct Taps {
  Lanes at[kTaps];
};

S2S_BODY Taps load_taps(const float* taps, int64_t channels, int64_t channel) {
  Taps out;
  for (int64_t k = 0; k < kTaps; ++k) out.at[k] = load_lanes(taps + k * channels + channel);
  return out;
}

S2S_BODY void add_taps(const Taps& taps, float* to, int64_t channels, int64_t channel) {
  for (int64_t k = 0; k < kTaps; ++k) {
    float* const place = to + k * channels + channel;
    store_lanes(load_lanes(place) + taps.at[k], place);
  }
}

/// Three rows of activations or of their gradients, with zero padding around the bands.
class Ring {
 public:
  explicit Ring(const Geometry& size)
      : row_size_((size.left + std::max(size.bands, 2 * size.out_bands) + 2) * kLanes),
        memory_(static_cast<size_t>(row_size_) * 4) {}
  float* row(int64_t frame) { return memory_.data() + (frame + 3) % 3 * row_size_; }
  /// A row that stays zero (activations) or is never read (gradients).
  float* outside() { return memory_.data() + 3 * row_size_; }
  void clear(float* row) const {
    std::memset(row, 0, static_cast<size_t>(row_size_) * sizeof(float));
  }
  void clear_all() { std::fill(memory_.begin(), memory_.end(), 0.0F); }

 private:
  int64_t row_size_;
  std::vector<float> memory_;
};

/// The position of a block of channels in a batch row.
struct Place {
  int64_t batch, channel, valid;
};

/// Computes the activations of one frame: [left + F + ..., 16].
S2S_BODY void fill_row(const Geometry& size, const Source& source, const Place& place,
                       int64_t frame, float* row) {
  float* to = row + size.left * kLanes;
  if (source.image == nullptr) {
    const float* from = source.before +
                        ((place.batch * size.frames + frame) * size.bands) * size.channels +
                        place.channel;
    for (int64_t f = 0; f < size.bands; ++f, to += kLanes, from += size.channels) {
      store_lanes(positive(load_lanes(from)), to);
    }
    return;
  }
  const Taps taps = load_taps(source.first_taps, size.channels, place.channel);
  const Lanes bias = load_lanes(source.first_bias + place.channel);
  const float* line =
      source.image + (place.batch * source.image_frames + 2 * frame) * source.image_bands;
  for (int64_t f = 0; f < size.bands; ++f, to += kLanes, line += 2) {
    Lanes sum = bias;
    for (int64_t k = 0; k < kTaps; ++k) {
      sum += taps.at[k] * line[k / 3 * source.image_bands + k % 3];
    }
    store_lanes(positive(sum), to);
  }
}

/// Fills the ring with the three rows of output frame `u`, and returns their addresses.
struct Rows {
  float* at[3];
};
S2S_BODY Rows rows_under(int64_t u, const Geometry& size, const Source& source, const Place& place,
                         Ring& ring, int64_t& filled) {
  Rows rows;
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t frame = 2 * u - size.left + i;
    const bool inside = frame >= 0 && frame < place.valid;
    rows.at[i] = inside ? ring.row(frame) : ring.outside();
    if (!inside || frame < filled) continue;
    fill_row(size, source, place, frame, rows.at[i]);
    filled = frame + 1;
  }
  return rows;
}

S2S_BODY void forward_row(const Forward& job, const Place& place, Ring& ring) {
  const Geometry& size = job.size;
  const Taps taps = load_taps(job.taps, size.channels, place.channel);
  const Lanes bias = load_lanes(job.bias + place.channel);
  int64_t filled = 0;
  for (int64_t u = 0; u < size.out_frames; ++u) {
    const Rows rows = rows_under(u, size, job.source, place, ring, filled);
    float* out = job.out + (place.batch * size.out_frames + u) * size.out_bands * size.channels +
                 place.channel;
    for (int64_t g = 0; g < size.out_bands; ++g, out += size.channels) {
      Lanes sum = bias;
      for (int64_t k = 0; k < kTaps; ++k) {
        sum += taps.at[k] * load_lanes(rows.at[k / 3] + (2 * g + k % 3) * kLanes);
      }
      store_lanes(sum, out);
    }
  }
}

/// Called when a row's gradient is complete: passes it through the ReLU to the input.
S2S_BODY void finish_row(const Backward& job, const Place& place, int64_t frame,
                         const float* active, const float* grad) {
  const Geometry& size = job.size;
  const Source& source = job.source;
  active += size.left * kLanes;
  grad += size.left * kLanes;
  if (source.image == nullptr) {
    float* to = job.grad_before +
                ((place.batch * size.frames + frame) * size.bands) * size.channels + place.channel;
    for (int64_t f = 0; f < size.bands; ++f, to += size.channels) {
      store_lanes(load_lanes(active + f * kLanes) > 0 ? load_lanes(grad + f * kLanes) : Lanes{},
                  to);
    }
    return;
  }
  const float* line =
      source.image + (place.batch * source.image_frames + 2 * frame) * source.image_bands;
  Taps sums{};
  Lanes bias{};
  for (int64_t f = 0; f < size.bands; ++f, line += 2) {
    const Lanes passed =
        load_lanes(active + f * kLanes) > 0 ? load_lanes(grad + f * kLanes) : Lanes{};
    bias += passed;
    for (int64_t k = 0; k < kTaps; ++k) {
      sums.at[k] += passed * line[k / 3 * source.image_bands + k % 3];
    }
  }
  add_taps(sums, job.grad_first_taps, size.channels, place.channel);
  store_lanes(load_lanes(job.grad_first_bias + place.channel) + bias,
              job.grad_first_bias + place.channel);
}

/// Adds one output row's contribution to the gradients of the weights and of its input rows.
S2S_BODY void spread_row(const Backward& job, const Place& place, int64_t u, const Rows& active,
                         const Rows& grads) {
  const Geometry& size = job.size;
  const Taps taps = load_taps(job.taps, size.channels, place.channel);
  const float* from = job.grad_out +
                      (place.batch * size.out_frames + u) * size.out_bands * size.channels +
                      place.channel;
  Taps sums{};
  Lanes bias{};
  for (int64_t g = 0; g < size.out_bands; ++g, from += size.channels) {
    const Lanes grad = load_lanes(from);
    bias += grad;
    for (int64_t k = 0; k < kTaps; ++k) {
      const int64_t band = (2 * g + k % 3) * kLanes;
      sums.at[k] += grad * load_lanes(active.at[k / 3] + band);
      float* const to = grads.at[k / 3] + band;
      store_lanes(load_lanes(to) + grad * taps.at[k], to);
    }
  }
  add_taps(sums, job.grad_taps, size.channels, place.channel);
  store_lanes(load_lanes(job.grad_bias + place.channel) + bias, job.grad_bias + place.channel);
}

S2S_BODY void backward_row(const Backward& job, const Place& place, Ring& ring, Ring& grad_ring) {
  const Geometry& size = job.size;
  int64_t filled = 0, cleared = 0, finished = 0;
  const auto finish_until = [&](int64_t end) __attribute__((always_inline)) {
    for (; finished < std::min(end, cleared); ++finished) {
      finish_row(job, place, finished, ring.row(finished), grad_ring.row(finished));
    }
  };
  for (int64_t u = 0; u < size.out_frames; ++u) {
    finish_until(2 * u - size.left);
    const Rows active = rows_under(u, size, job.source, place, ring, filled);
    Rows grads;
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t frame = 2 * u - size.left + i;
      const bool inside = frame >= 0 && frame < place.valid;
      grads.at[i] = inside ? grad_ring.row(frame) : grad_ring.outside();
      if (!inside || frame < cleared) continue;
      grad_ring.clear(grads.at[i]);
      cleared = frame + 1;
    }
    spread_row(job, place, u, active, grads);
  }
  finish_until(size.frames);
}

Place place_of(const Geometry& size, const Source& source, int64_t block, int64_t batch) {
  return {batch, block * kLanes, std::min(source.valid[batch], size.frames)};
}

struct StridingBody {
  static S2S_BODY void run(const Forward& job, int64_t begin, int64_t end) {
    Ring ring(job.size);
    for (int64_t block = begin; block < end; ++block) {
      for (int64_t b = 0; b < job.size.batch; ++b) {
        ring.clear_all();
        forward_row(job, place_of(job.size, job.source, block, b), ring);
      }
    }
  }

  static S2S_BODY void run(const Backward& job, int64_t begin, int64_t end) {
    Ring ring(job.size), grad_ring(job.size);
    for (int64_t block = begin; block < end; ++block) {
      for (int64_t b = 0; b < job.size.batch; ++b) {
        ring.clear_all();
        backward_row(job, place_of(job.size, job.source, block, b), ring, grad_ring);
      }
    }
  }
};

}  // namespace

void run(const Forward& job, int64_t begin, int64_t end) {
  run_best<StridingBody>(job, begin, end);
}
void run(const Backward& job, int64_t begin, int64_t end) {
  run_best<StridingBody>(job, begin, end);
}

}  // namespace s2s::striding
