#pragma once
// One collective with numbers whose result is known.

#include <ATen/core/Tensor.h>

#include "s2s/kinds/communicator.h"

namespace s2s::run {

class CollectiveCase {
 public:
  /// num_bytes: about as many, float32; a multiple of the group's size. kSend: every rank sends to
  /// the next one and receives from the one before.
  CollectiveCase(CollectiveKind kind, Communicator& group, int64_t num_bytes);

  /// "all_reduce", ...; "send and recv"
  const char* name() const;
  int64_t num_bytes() const { return num_bytes_; }
  /// Bytes that the busiest link of a ring carries for each byte of the tensor.
  double bus_factor() const;

  void fill();
  /// Starts it and waits for its end.
  void run();
  /// True when this rank's result is what it has to be.
  bool is_right() const;

 private:
  at::Tensor whole_of(int64_t rank) const;
  at::Tensor part_of(const at::Tensor& whole, int64_t index) const;
  at::Tensor expected() const;
  const at::Tensor& result() const;

  CollectiveKind kind_;
  Communicator& group_;
  int64_t num_bytes_;
  at::Tensor pattern_;  // the same on all ranks
  at::Tensor whole_, part_;
  at::Tensor received_;  // all_to_all, recv
};

}  // namespace s2s::run
