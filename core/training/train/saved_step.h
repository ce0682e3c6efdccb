#pragma once
// A failed training step, saved to be repeated alone (`train --replay`).

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/batch.h"

namespace s2s {

/// What one rank needs to repeat its part of a step with the step's weights.
struct SavedStep {
  int64_t step = 0;    // 0-based
  std::string reason;  // "the loss is nan"
  double loss = 0;     // over all data ranks
  double own_loss = 0;
  double grad_norm = 0;  // before clipping; 0: not known when the step was saved
  double frames = 0;     // of the step on all data ranks: the normalizer of the losses
  int64_t data_rank = 0;
  int64_t data_size = 1;
  int64_t num_ranks = 1;
  /// The folder beside the file with the weights before the step's update; "": none.
  std::string weights;
  std::string weights_problem;  // why they are missing or of another step; else ""
  std::string data_state;       // of the data source, before it gave the batches
  std::vector<Batch> batches;   // the micro-batches
};

/// Writes a safetensors file: the tensors of micro-batch N as "N/NAME", the rest as metadata.
/// Errors: [io/write].
void write_saved_step(const std::string& path, const SavedStep& step);

/// Errors: [run/replay] for another file; those of reading safetensors.
SavedStep read_saved_step(const std::string& path);

/// The names and tensors of a batch, including undefined ones.
std::vector<std::pair<std::string, at::Tensor*>> named_tensors(Batch& batch);

}  // namespace s2s
