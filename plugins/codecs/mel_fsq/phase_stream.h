#pragma once
// Reconstructs audio from magnitudes, block by block: iterative inversion with one block of
// look-ahead. Shape letters: B batch, C columns, N bins, S samples, L samples of a window.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "mel_fsq_options.h"
#include "s2s/nn/block.h"

namespace s2s::mel_fsq {

/// A new block of columns is initialized with the phases that continue the previous audio. Then it
/// is improved together with the previous block, which becomes final. Results do not depend on how
/// many blocks are pushed, so a stream and a whole file give the same samples. Source: real-time
/// iterative spectrogram inversion with look-ahead (Zhu, Beauregard and Wyse 2007), with the
/// momentum of Perraudin, Balazs and Soendergaard 2013.
class PhaseStream {
 public:
  PhaseStream(const Framing& framing, int64_t batch_size, int64_t iterations);
  /// magnitudes [B, kColumnsPerFrame, N] on the CPU -> final samples [B, S]: none for the first
  /// block, one block minus the window's overhang for the second, then one block each.
  at::Tensor push(const at::Tensor& magnitudes_BCN);
  /// Returns the remaining samples. In total, each block gives the samples of one block.
  at::Tensor finish();
  /// What it remembers, by name: real numbers on the CPU.
  TensorMap state() const;
  /// Continues where `state` of a stream of the same sizes was taken.
  void restore(const TensorMap& state);
  /// The names of a state.
  static std::vector<std::string> state_names();

 private:
  /// Two blocks; columns 0 .. C - 1 are the older one.
  static constexpr int64_t kColumns = 2 * kColumnsPerFrame;

  void continue_phases();
  void improve(int64_t first, int64_t last);
  void impose_magnitudes(const at::Tensor& analysed, int64_t first, float momentum);
  at::Tensor commit_older_block();
  at::Tensor emit(int64_t num_samples);
  void shift();

  /// Adds columns [first, first + C') of pieces [B, C', L], windowed, to sound [B, span].
  void overlap_add(const at::Tensor& pieces_BCL, int64_t first, std::vector<float>& sound) const;
  void add_weights(int64_t first, int64_t last, std::vector<float>& weight) const;
  /// The windowed segments of sound / weight under columns [first, last), [B, C', L].
  at::Tensor stretches(const std::vector<float>& sound, const std::vector<float>& weight,
                       int64_t first, int64_t last) const;
  at::Tensor synthesized(int64_t first, int64_t last) const;

  Framing framing_;
  int64_t batch_, iterations_;
  int64_t span_;  // samples covered by both blocks
  bool holds_block_ = false;
  int64_t overhang_left_;  // samples before the start of the audio that must still be dropped
  std::vector<float> window_;
  std::vector<float> committed_,
      committed_weight_;       // final columns, overlap-added: [B, span]
  at::Tensor magnitudes_BCN_;  // of both blocks
  at::Tensor spectra_BCN_,
      analysed_BCN_;  // complex: the estimate, the last analysis
};

}  // namespace s2s::mel_fsq
