#include "train.h"

#include <sentencepiece_trainer.h>

#include <unordered_map>

#include "s2s/data/training_texts.h"
#include "sentencepiece_errors.h"

namespace s2s::sentencepiece_plugin {
namespace {

class Texts : public sentencepiece::SentenceIterator {
 public:
  explicit Texts(const std::vector<std::string>& texts) : texts_(texts) {}
  bool done() const override { return next_ >= texts_.size(); }
  void Next() override { ++next_; }
  const std::string& value() const override { return texts_[next_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& texts_;
  size_t next_ = 0;
};

std::unordered_map<std::string, std::string> trainer_arguments(const TrainOptions& options) {
  return {
      {"model_type", options.model_type},
      {"vocab_size", std::to_string(options.vocab_size)},
      {"character_coverage", std::to_string(options.character_coverage)},
      {"normalization_rule_name", options.normalization},
      {"hard_vocab_limit", "false"},
      {"unk_id", "0"},
      {"bos_id", "1"},
      {"eos_id", "2"},
      {"pad_id", "3"},
      {"num_threads", "1"},  // the same model on every machine
      {"minloglevel", "2"},
  };
}

}  // namespace

void train_model(const std::vector<std::string>& texts, const TrainOptions& options,
                 const std::string& place, const std::string& path) {
  Texts iterator(texts);
  std::string model;
  const auto status =
      sentencepiece::SentencePieceTrainer::Train(trainer_arguments(options), &iterator, &model);
  if (!status.ok()) throw errors::training(place, status.ToString());
  write_tokenizer_file(path, model);
}

}  // namespace s2s::sentencepiece_plugin
