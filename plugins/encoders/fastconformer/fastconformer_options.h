#pragma once
// Options of the encoder: NeMo's blocks, and augmentation of the mel power.

#include <optional>
#include <string>
#include <vector>

#include "s2s/nn/conformer.h"
#include "s2s/nn/mel.h"

namespace s2s::fastconformer {

/// Masks on the features in training.  Source: NeMo, SpecAugment (vectorized).
struct SpecAugmentOptions {
  int64_t freq_masks = 0;
  int64_t time_masks = 0;
  int64_t freq_width = 10;
  std::string time_width = "10";  // frames, or with a decimal point a fraction of the row
  void visit(OptionVisitor& v);
};

/// Changes of the mel power in training; all off by default.
struct AugmentOptions {
  double gain_db = 0;
  std::vector<double> noise_snr_db;
  double warp = 0;
  void visit(OptionVisitor& v);
};

struct FastConformerOptions {
  FastConformerOptions();
  MelOptions preprocessor;
  ConformerOptions encoder;
  SpecAugmentOptions spec_augment;
  AugmentOptions augment;
  std::optional<std::string> path;
  std::string checkpoint = "nemo";
  void visit(OptionVisitor& v);
  /// Errors: [encoder/bands], [encoder/augment] and those of both parts.
  void check(const std::string& place) const;
};

/// Converts {"preprocessor", "encoder", "spec_augment"} (NeMo; missing keys have NeMo's defaults)
/// or config.json of a ParakeetEncoder, a NemotronAsrStreamingEncoder or a model of one to options.
/// Its `preprocessor` is preprocessor_config.json.
/// Errors: [weights/config].
Config translate(const Config& foreign);

}  // namespace s2s::fastconformer
