#pragma once
// The scorer COMPONENT_NAME: a program of the user transcribes WAV files.

#include <memory>
#include <string>
#include <vector>

#include "s2s/kinds/scorer.h"
#include "s2s/registry.h"

namespace PLUGIN_NAME {

struct Options {
  std::string program;
  int64_t sample_rate = 16000;
  double quietest = 1e-4;
  double timeout_s = 3600;
  void visit(s2s::OptionVisitor& v) {
    v("program", program, "executable that reads paths of WAV files and prints one line for each",
      s2s::program(s2s::required()));
    v("sample_rate", sample_rate, "sample rate of the WAV files in Hz", s2s::between(1000, 192000));
    v("quietest", quietest, "clips whose peak is below this (full scale 1) count as silence",
      s2s::between(0, 1));
    v("timeout_s", timeout_s,
      "time limit in s for all clips of a validation; then the program is killed",
      s2s::at_least(0.001));
  }
};

class Scorer final : public s2s::Scorer {
 public:
  /// place: of the options in the config, for messages.
  Scorer(const Options& options, const std::string& place) : options_(options), place_(place) {}

  /// Checks that the program exists; the texts are not used. Errors: [PLUGIN_NAME/program].
  void prepare(const std::vector<std::string>& texts) override;
  /// Errors: [PLUGIN_NAME/failed] when the program fails, [PLUGIN_NAME/lines] when it prints more
  /// or fewer lines than there are files, [PLUGIN_NAME/write].
  std::vector<std::string> transcribe(const std::vector<s2s::AudioClip>& clips) override;
  std::vector<std::string> notes() const override { return notes_; }

 private:
  Options options_;
  std::string place_;
  std::vector<std::string> notes_;
};

std::unique_ptr<s2s::Scorer> create(const s2s::Config& options, const s2s::ScorerContext& context);

}  // namespace PLUGIN_NAME
