#include "train.h"

#include <sentencepiece_trainer.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unordered_map>

#include "s2s/cuts.h"
#include "s2s/duplex_data.h"
#include "tokenizer_errors.h"

namespace s2s::sentencepiece_plugin {
namespace {

namespace fs = std::filesystem;

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

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

void add_cut_texts(const std::string& path, std::vector<std::string>& texts) {
  for (const Cut& cut : read_cuts({path}).cuts) {
    for (const Supervision& turn : cut.supervisions) {
      if (turn.text) texts.push_back(clean_text(*turn.text));
    }
  }
}

void add_lines(const std::string& path, const std::string& place, std::vector<std::string>& texts) {
  std::ifstream file(path);
  if (!file) throw errors::training_input(place, path, "cannot be opened");
  for (std::string line; std::getline(file, line);) {
    line = clean_text(line);
    if (!line.empty()) texts.push_back(line);
  }
}

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

void write_whole(const std::string& path, const std::string& bytes) {
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, error);
  const std::string partial = path + ".partial." + std::to_string(getpid());
  std::ofstream file(partial, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    const std::string reason = std::strerror(errno);
    fs::remove(partial, error);
    throw errors::cannot_write(path, reason);
  }
  fs::rename(partial, path, error);
  if (error) throw errors::cannot_write(path, error.message());
}

}  // namespace

std::vector<std::string> read_texts(const Config& input, const std::string& place,
                                    const std::string& base_dir) {
  std::vector<const Config*> items;
  if (input.is_scalar()) items.push_back(&input);
  for (const Config& item : input.items()) items.push_back(&item);
  std::vector<std::string> texts;
  for (const Config* item : items) {
    const std::string path = (fs::path(base_dir) / item->text()).lexically_normal().string();
    if (ends_with(path, ".jsonl") || ends_with(path, ".jsonl.gz")) {
      add_cut_texts(path, texts);
    } else {
      add_lines(path, place, texts);
    }
  }
  if (texts.empty()) {
    throw errors::training_input(place, items.empty() ? "" : items.front()->text(),
                                 "holds no text");
  }
  return texts;
}

void train_model(const std::vector<std::string>& texts, const TrainOptions& options,
                 const std::string& place, const std::string& path) {
  Texts iterator(texts);
  std::string model;
  const auto status =
      sentencepiece::SentencePieceTrainer::Train(trainer_arguments(options), &iterator, &model);
  if (!status.ok()) throw errors::training(place, status.ToString());
  write_whole(path, model);
}

}  // namespace s2s::sentencepiece_plugin
