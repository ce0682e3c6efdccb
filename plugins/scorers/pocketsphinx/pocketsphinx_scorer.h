#pragma once
// A scorer that runs pocketsphinx_batch with a bigram model of the domain's texts. It shares no
// code or data with the models that it scores.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "process.h"
#include "s2s/kinds/scorer.h"
#include "s2s/options.h"

namespace s2s::pocketsphinx {

struct PocketsphinxOptions {
  std::string program = "pocketsphinx_batch";
  std::string model = "/usr/share/pocketsphinx/model/en-us";
  double discount = 0.5;
  int64_t workers = 0;
  double timeout_s = 600;

  void visit(OptionVisitor& v) {
    v("program", program, "name (found in PATH) or path of the recognizer", s2s::program());
    v("model", model, "folder with the acoustic model en-us and cmudict-en-us.dict");
    v("discount", discount, "discount for each observed word pair in the language model",
      between(0, 0.99));
    v("workers", workers, "number of processes; 0: one per processor", at_least(0));
    v("timeout_s", timeout_s,
      "timeout in seconds of a recognizer that prints nothing; it is then killed", at_least(0.001));
  }
};

class PocketsphinxScorer : public Scorer {
 public:
  explicit PocketsphinxScorer(PocketsphinxOptions options) : options_(std::move(options)) {}
  ~PocketsphinxScorer() override;
  /// Errors: [scorer/program], [scorer/model], [scorer/no-texts],
  /// [scorer/write].
  void prepare(const std::vector<std::string>& texts) override;
  /// Errors: [scorer/failed], [scorer/write].
  std::vector<std::string> transcribe(const std::vector<AudioClip>& clips) override;
  std::vector<std::string> notes() const override { return notes_; }

 private:
  std::vector<std::string> command(const std::filesystem::path& folder, size_t part) const;

  PocketsphinxOptions options_;
  std::string program_;                      // found by prepare
  std::unique_ptr<TemporaryFolder> folder_;  // language model and dictionary
  std::vector<std::string> notes_;
};

}  // namespace s2s::pocketsphinx
