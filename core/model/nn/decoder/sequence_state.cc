#include "s2s/nn/sequence_state.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <type_traits>

#include "nn/decoder/fixed_keys.h"
#include "s2s/error.h"

namespace s2s {
namespace {

constexpr int64_t kFirstPositions = 64;

at::Tensor indices_of(const std::vector<int64_t>& rows, at::Device device) {
  return at::tensor(rows, at::kLong).to(device);
}

/// A copy of the memory in one for `positions`.
at::Tensor enlarged_keys(const at::Tensor& memory, int64_t positions) {
  std::vector<int64_t> sizes = memory.sizes().vec();
  sizes[2] = positions;
  at::Tensor target = at::empty(sizes, memory.options());
  target.narrow(2, 0, memory.size(2)).copy_(memory);
  return target;
}

at::Tensor new_keys(const at::Tensor& like, int64_t num_rows, int64_t positions) {
  return at::empty({num_rows, like.size(1), positions, like.size(3)}, like.options());
}

}  // namespace

SequenceState::SequenceState(int64_t num_layers, int64_t num_rows)
    : keys_(static_cast<size_t>(num_layers)), recurrent_(static_cast<size_t>(num_layers)) {
  begin(num_rows);
}

SequenceState::~SequenceState() = default;

void SequenceState::begin(int64_t num_rows) {
  if (has_rows_ || num_rows == 0) return;
  has_rows_ = true;
  lengths_.assign(static_cast<size_t>(num_rows), lengths_.front());
  for (Keys& keys : keys_) keys.spans.resize(lengths_.size());
}

bool SequenceState::are_all(const std::vector<int64_t>& rows) const {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != static_cast<int64_t>(i)) return false;
  }
  return rows.empty() || rows.size() == lengths_.size();
}

SeenKeys SequenceState::append_rows(Keys& keys, int64_t first_row, int64_t count,
                                    const at::Tensor& k, const at::Tensor& v, int64_t window) {
  Span& old = keys.spans[static_cast<size_t>(first_row)];
  const int64_t kept = window > 0 ? std::min(old.used, window - 1) : old.used;
  Span span = {old.begin + old.used - kept, kept + k.size(2)};
  if (keys.k.size(2) < span.begin + span.used) {
    // Moves the kept positions to the front where that halves what is in use. Moving then costs
    // less than appending.
    const bool moves = 2 * span.used <= keys.k.size(2);
    const int64_t wanted = std::max(2 * keys.k.size(2), span.begin + span.used);
    for (at::Tensor* memory : {&keys.k, &keys.v}) {
      if (!moves) {
        *memory = enlarged_keys(*memory, wanted);
      } else if (kept > 0) {
        const at::Tensor own = memory->narrow(0, first_row, count);
        own.narrow(2, 0, kept).copy_(own.narrow(2, span.begin, kept).clone());
      }
    }
    if (moves) span.begin = 0;
  }
  std::fill_n(keys.spans.begin() + first_row, count, span);
  const auto put = [&](const at::Tensor& memory, const at::Tensor& fresh) {
    const at::Tensor seen = memory.narrow(0, first_row, count).narrow(2, span.begin, span.used);
    seen.narrow(2, kept, fresh.size(2)).copy_(fresh);
    return seen;
  };
  const at::Tensor seen_k = put(keys.k, k);
  return {seen_k, put(keys.v, v)};
}

std::vector<SeenKeys> SequenceState::append(int64_t layer, const at::Tensor& k, const at::Tensor& v,
                                            int64_t window, const std::vector<int64_t>& rows) {
  S2S_ASSERT(layer >= 0 && layer < static_cast<int64_t>(keys_.size()), "layer is in the model");
  const at::NoGradGuard no_grad;
  begin(k.size(0));
  S2S_ASSERT(k.size(0) == static_cast<int64_t>(rows.empty() ? lengths_.size() : rows.size()),
             "a step has the rows of the state");
  if (fixed_) {
    S2S_ASSERT(are_all(rows), "steps of reserved memory continue all rows");
    return fixed_->append(layer, k, v, window);
  }
  Keys& keys = keys_[static_cast<size_t>(layer)];
  if (!keys.k.defined()) {
    const int64_t positions = std::max(kFirstPositions, k.size(2));
    keys.k = new_keys(k, num_rows(), positions);
    keys.v = new_keys(v, num_rows(), positions);
  }
  keys.window = window;
  const auto is_first = [&](const Span& span) { return span == keys.spans.front(); };
  if (are_all(rows) && std::all_of(keys.spans.begin(), keys.spans.end(), is_first)) {
    return {append_rows(keys, 0, num_rows(), k, v, window)};
  }
  std::vector<SeenKeys> seen;
  for (int64_t b = 0; b < k.size(0); ++b) {
    const int64_t row = rows.empty() ? b : rows[static_cast<size_t>(b)];
    seen.push_back(append_rows(keys, row, 1, k.narrow(0, b, 1), v.narrow(0, b, 1), window));
  }
  return seen;
}

at::Tensor SequenceState::recall(int64_t layer, const std::string& name,
                                 const std::vector<int64_t>& rows) const {
  const auto& own = recurrent_[static_cast<size_t>(layer)];
  const auto found = own.find(name);
  if (found == own.end()) return {};
  if (are_all(rows)) return found->second;
  return found->second.index_select(0, indices_of(rows, found->second.device()));
}

void SequenceState::remember(int64_t layer, const std::string& name, const at::Tensor& value,
                             const std::vector<int64_t>& rows) {
  const at::NoGradGuard no_grad;
  begin(value.size(0));
  at::Tensor& own = recurrent_[static_cast<size_t>(layer)][name];
  if (are_all(rows)) {
    own = value;
    return;
  }
  std::vector<int64_t> sizes = value.sizes().vec();
  sizes[0] = num_rows();
  const at::Tensor all = own.defined() ? own : at::zeros(sizes, value.options());
  own = all.index_copy(0, indices_of(rows, value.device()), value);
}

void SequenceState::advance(int64_t num_positions, const std::vector<int64_t>& rows) {
  if (rows.empty()) advance_host(num_positions);
  for (const int64_t row : rows) lengths_[static_cast<size_t>(row)] += num_positions;
  if (fixed_) fixed_->advance(num_positions);
}

void SequenceState::advance_host(int64_t num_positions) {
  for (int64_t& length : lengths_) length += num_positions;
}

std::vector<int64_t> SequenceState::lengths(const std::vector<int64_t>& rows) const {
  if (rows.empty()) return lengths_;
  std::vector<int64_t> found;
  for (const int64_t row : rows) found.push_back(length(row));
  return found;
}

void SequenceState::clear() {
  std::fill(lengths_.begin(), lengths_.end(), 0);
  for (Keys& keys : keys_) keys = {{}, {}, std::vector<Span>(keys.spans.size()), 0};
  for (auto& own : recurrent_) own.clear();
  if (fixed_) fixed_->clear();
}

void SequenceState::reset_row(int64_t row) {
  lengths_[static_cast<size_t>(row)] = 0;
  for (Keys& keys : keys_) keys.spans[static_cast<size_t>(row)] = {};
  for (auto& own : recurrent_) {
    for (auto& [name, value] : own) {
      value = value.clone();  // a layer may still hold what it recalled
      value.select(0, row).zero_();
    }
  }
  if (fixed_) fixed_->lengths_changed();
}

void SequenceState::copy_row(int64_t from, int64_t to) {
  const at::NoGradGuard no_grad;
  const auto source = static_cast<size_t>(from), target = static_cast<size_t>(to);
  lengths_[target] = lengths_[source];
  for (Keys& keys : keys_) {
    keys.spans[target] = keys.spans[source];
    if (!keys.k.defined()) continue;
    keys.k.select(0, to).copy_(keys.k.select(0, from));
    keys.v.select(0, to).copy_(keys.v.select(0, from));
  }
  for (auto& own : recurrent_) {
    for (auto& [name, value] : own) {
      value = value.clone();
      value.select(0, to).copy_(value.select(0, from));
    }
  }
  if (!fixed_) return;
  fixed_->copy_row(from, to);
  fixed_->lengths_changed();
}

void SequenceState::select_rows(const at::Tensor& rows_N) {
  S2S_ASSERT(!fixed_, "rows of reserved memory stay");
  const at::Tensor on_host = rows_N.cpu().contiguous();
  const auto* const chosen = on_host.const_data_ptr<int64_t>();
  const auto picked = [&](const auto& all) {
    std::remove_cvref_t<decltype(all)> kept;
    for (int64_t i = 0; i < on_host.numel(); ++i)
      kept.push_back(all[static_cast<size_t>(chosen[i])]);
    return kept;
  };
  lengths_ = picked(lengths_);
  for (Keys& keys : keys_) {
    keys.spans = picked(keys.spans);
    if (!keys.k.defined()) continue;
    keys.k = keys.k.index_select(0, rows_N);
    keys.v = keys.v.index_select(0, rows_N);
  }
  for (auto& own : recurrent_) {
    for (auto& [name, value] : own) value = value.index_select(0, rows_N);
  }
}

SeenKeys SequenceState::row_of(const Keys& keys, int64_t row) const {
  const Span& span = keys.spans[static_cast<size_t>(row)];
  const auto part = [&](const at::Tensor& memory) {
    return memory.narrow(0, row, 1).narrow(2, span.begin, span.used);
  };
  return {part(keys.k), part(keys.v)};
}

void SequenceState::move_to_fixed() {
  for (size_t layer = 0; layer < keys_.size(); ++layer) {
    Keys& keys = keys_[layer];
    if (!keys.k.defined()) continue;
    for (int64_t row = 0; row < num_rows(); ++row) {
      fixed_->put(static_cast<int64_t>(layer), row, row_of(keys, row), keys.window);
    }
    keys = {{}, {}, std::vector<Span>(keys.spans.size()), 0};
  }
}

void SequenceState::reserve(int64_t positions, at::Device device) {
  if (device.is_cpu()) return;
  const bool is_new = !fixed_;
  if (is_new) fixed_ = std::make_unique<FixedKeys>(static_cast<int64_t>(keys_.size()), lengths_);
  fixed_->reserve(std::max(positions, *std::max_element(lengths_.begin(), lengths_.end())));
  if (is_new) move_to_fixed();  // what `load` has read
}

int64_t SequenceState::capacity() const { return fixed_ ? fixed_->capacity() : 0; }

}  // namespace s2s
