#pragma once
// What the layers of a sequence model remember between two steps, and what they get in a step.
// Shape letters: R rows of the state (one sequence each), B rows of a step, T columns of a step,
// S positions that are kept, N positions that need an angle.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "s2s/batch.h"

namespace s2s {

class FixedKeys;

/// Keys and values [B, heads, S, D] that queries attend to.
struct SeenKeys {
  at::Tensor k, v;
};

/// The state of R sequences in the layers of a model: keys and values of attention, and any tensors
/// of recurrent layers. Rows are independent of each other: each has a length of its own, can be
/// emptied and copied. A step continues all rows, or those that it names (`rows`, one for each row
/// of the step; empty: all, in order). Memory for keys grows by doubling.
class SequenceState {
 public:
  /// `num_rows` empty sequences; 0: as many as the first step has.
  explicit SequenceState(int64_t num_layers, int64_t num_rows = 0);
  ~SequenceState();

  /// Appends k, v [B, heads, T, D] of one layer. Returns everything so far, as one entry for all
  /// rows of the step when they are equally long, else as an entry for each row. With window > 0
  /// (the number of positions that a query sees, including its own), an entry has only the last
  /// window - 1 positions before the new ones, and older ones are forgotten.
  std::vector<SeenKeys> append(int64_t layer, const at::Tensor& k, const at::Tensor& v,
                               int64_t window = 0, const std::vector<int64_t>& rows = {});
  /// A tensor [B, ...] of a recurrent layer, as `remember` stored it; undefined before that. Zeros
  /// in rows that are empty.
  at::Tensor recall(int64_t layer, const std::string& name,
                    const std::vector<int64_t>& rows = {}) const;
  /// Stores a tensor [B, ...] of a recurrent layer.
  void remember(int64_t layer, const std::string& name, const at::Tensor& value,
                const std::vector<int64_t>& rows = {});
  /// Called by the model once a step, after the last layer.
  void advance(int64_t num_positions, const std::vector<int64_t>& rows = {});
  /// Called in place of `advance` for a step of all rows that the device repeats from a graph.
  void advance_host(int64_t num_positions);

  /// R; 0 before the first step when the number was not given.
  int64_t num_rows() const { return has_rows_ ? static_cast<int64_t>(lengths_.size()) : 0; }
  /// Sets R where it is open. Called by models before a step of `num_rows` new sequences.
  void begin(int64_t num_rows);
  /// Positions that a row has seen, without the current step: the position of its next column.
  int64_t length(int64_t row = 0) const { return lengths_[static_cast<size_t>(row)]; }
  /// Those of the rows of a step.
  std::vector<int64_t> lengths(const std::vector<int64_t>& rows = {}) const;

  /// Empties all rows, or one.
  void clear();
  void reset_row(int64_t row);
  /// Makes row `to` a copy of row `from`.
  void copy_row(int64_t from, int64_t to);
  /// Keeps these rows [N] int64, in this order; a row may occur more than once. Not with reserved
  /// memory.
  void select_rows(const at::Tensor& rows_N);

  /// Writes all rows to a .safetensors file, from which `load` restores them bit for bit.
  /// Errors: [file/write].
  void save(const std::string& path) const;
  /// Replaces all rows by those of a file, on `device`. Errors: those of WeightFiles::open,
  /// [weights/sequence-state] when the file is of another kind or of another number of layers.
  void load(const std::string& path, at::Device device);

  /// Gives the keys memory for at least `positions` in all, so that steps with one position have
  /// the same shapes until that many are kept. Layers with a window have memory for the window
  /// only, as a ring. Called before each step. Does nothing on a CPU: there, shapes cost nothing.
  /// Steps then continue all rows.
  void reserve(int64_t positions, at::Device device);
  /// Positions that there is memory for; 0 unless it was reserved.
  int64_t capacity() const;
  /// The reserved memory, for core's own attention; null unless there is some.
  FixedKeys* fixed() const { return fixed_.get(); }

 private:
  /// The part of a row's memory that is in use.
  struct Span {
    int64_t begin = 0;
    int64_t used = 0;
    bool operator==(const Span&) const = default;
  };
  /// Keys and values [R, heads, S, D].
  struct Keys {
    at::Tensor k, v;
    std::vector<Span> spans;  // of each row
    int64_t window = 0;
  };
  bool are_all(const std::vector<int64_t>& rows) const;
  SeenKeys append_rows(Keys& keys, int64_t first_row, int64_t count, const at::Tensor& k,
                       const at::Tensor& v, int64_t window);
  SeenKeys row_of(const Keys& keys, int64_t row) const;
  void move_to_fixed();

  std::vector<Keys> keys_;                                    // by layer
  std::vector<std::map<std::string, at::Tensor>> recurrent_;  // by layer; each [R, ...]
  std::vector<int64_t> lengths_ = {0};  // by row; of the only one until there are more
  bool has_rows_ = false;
  std::unique_ptr<FixedKeys> fixed_;
};

/// The positions of a step's columns, from which rotary embeddings take their angles.
struct Positions {
  int64_t begin = 0;  // of the first column, when each column follows the one before it
  int64_t end = 0;    // after the last one: the length of the longest text; 0: not known yet
  /// The first position of each row, when rows differ; of all of them, when the angles depend on
  /// the length of their texts; else empty.
  std::vector<int64_t> row_begins;
  /// [N] int64 on the device, when columns do not follow each other: of each column (N = T), or of
  /// each column of each row (N = B * T). Else undefined.
  at::Tensor own_N;
};

/// What the layers of a decoder need in addition to their input.
struct SequenceInfo {
  SequenceState* state = nullptr;  // set while generating; positions continue after its length
  std::vector<int64_t> rows;       // of the state that the step continues; empty: all, in order
  /// Filled by the backbone unless `end` is set, as by a strategy that cuts a sequence into parts.
  Positions positions;
  /// [B, T] bool, true = real; optional, right padding (pure causal attention needs none).
  at::Tensor mask_BT;
  /// Packed documents of the only row (B is 1), in order and without gaps. Attention does not cross
  /// them, and positions begin at 0 in each. Null: a document per row. Not with a state.
  std::shared_ptr<const std::vector<DocumentSpan>> documents;
  at::Tensor document_begins;  // [documents + 1] int32, on devices; filled by the backbone
};

}  // namespace s2s
