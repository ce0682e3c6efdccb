#pragma once
// The data source `audio_and_text`: batches of audio data and batches of text data in one run.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "s2s/build_context.h"
#include "s2s/kinds/data_source.h"
#include "s2s/options.h"

namespace s2s::audio_and_text {

/// Weights of the random choice in randomized_round_robin.
struct MixWeights {
  double audio = 1;
  double text = 1;
  void visit(OptionVisitor& v) {
    v("audio", audio, "weight of audio data", at_least(0));
    v("text", text, "weight of text data", at_least(0));
  }
};

struct MixedOptions {
  Config audio, text;
  std::string sampler_fusion = "round_robin";
  MixWeights sampler_weights;
  bool repeat = true;

  void visit(OptionVisitor& v) {
    v("audio", audio, "data set of audio: its name and options", "data");
    v("text", text, "data set of text: its name and options", "data");
    v("sampler_fusion", sampler_fusion,
      "zip: every batch has both; round_robin: batches of audio and of text in turns; "
      "randomized_round_robin: drawn by sampler_weights",
      one_of({"zip", "round_robin", "randomized_round_robin"}));
    v("sampler_weights", sampler_weights, "weights of randomized_round_robin");
    v("repeat", repeat, "true: mixed data is for training and has no end; false is refused");
  }
};

/// In each step all data ranks get batches of the same kind, so that they run the same parts of the
/// model. The kind of the next batch depends only on the seed and the number of batches.
class MixedSource : public DataSource {
 public:
  /// Opens both sets. Errors: those of the sets, [config/missing], [data/mixed-weights],
  /// [data/mixed-pass].
  MixedSource(MixedOptions options, const DataContext& context);

  std::optional<Batch> next() override;
  std::string state() const override;
  void restore(const std::string& state) override;
  std::vector<std::string> texts() override;
  std::vector<std::string> left_out() const override;

 private:
  bool is_text(int64_t number) const;

  MixedOptions options_;
  std::string path_;
  uint64_t seed_;
  std::unique_ptr<DataSource> audio_, text_;
  int64_t num_batches_ = 0;  // of this rank and of every other rank
};

}  // namespace s2s::audio_and_text
