#pragma once
// The data source COMPONENT_NAME: batches of the dialogues of a list (dialog_list.h).

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s2s/data/duplex_data.h"
#include "s2s/kinds/data_source.h"
#include "s2s/registry.h"

namespace PLUGIN_NAME {

struct Options {
  std::string path;
  int64_t sample_rate = 16000;
  int64_t batch_size = 4;
  bool shuffle = true;
  bool repeat = true;
  void visit(s2s::OptionVisitor& v) {
    v("path", path, "list of dialogues", s2s::required());
    v("sample_rate", sample_rate, "sample rate of its audio in Hz", s2s::at_least(1));
    v("batch_size", batch_size, "dialogues per batch; the last batch of an epoch may have fewer",
      s2s::at_least(1));
    v("shuffle", shuffle, "new order in each epoch, from trainer.seed");
    // s2s-run sets it to false for validation sets.
    v("repeat", repeat, "start over at the end; false: one pass");
  }
};

/// Batch i belongs to data rank i % (number of data ranks).
class Source final : public s2s::DataSource {
 public:
  /// Reads and checks the list. Warns about texts that are too long for their turns.
  Source(const Options& options, const s2s::DuplexDataOptions& data,
         const s2s::DataContext& context);

  /// Errors: those of loading audio.
  std::optional<s2s::Batch> next() override;
  std::string state() const override;
  /// Errors: [PLUGIN_NAME/state] for a state of another list or batch size.
  void restore(const std::string& state) override;
  std::vector<std::string> texts() override;

 private:
  void check_texts(const s2s::DataContext& context) const;
  int64_t num_batches() const;  // batches per epoch
  std::vector<s2s::CutSequence> rows_of(int64_t batch);

  Options options_;
  s2s::BatchSpec spec_;
  std::string place_;  // of the options in the config
  uint64_t seed_;
  int64_t rank_, num_ranks_;
  const s2s::Tokenizer* tokenizer_;
  s2s::AudioLoader loader_;
  std::vector<s2s::Cut> dialogs_;
  int64_t position_ = 0;  // number of batches that all data ranks have read
  int64_t epoch_ = -1;    // the epoch of `order_`
  std::vector<size_t> order_;
};

std::unique_ptr<s2s::DataSource> create(const s2s::Config& options,
                                        const s2s::DataContext& context);

}  // namespace PLUGIN_NAME
