#include "s2s/recognizer_config.h"

#include <initializer_list>

#include "s2s/nn/weights.h"

namespace s2s {
namespace {

std::string text_or_null(const Config* node) {
  if (node == nullptr || node->is_null()) return "null";
  return node->is_scalar() ? node->text() : "a block";
}

constexpr int64_t kLargest = int64_t{1} << 20;  // labels, widths, layers

/// Reads values of a foreign configuration. Missing keys have NeMo's or transformers' default.
class Reader {
 public:
  Reader(const Config& foreign, std::string place) : foreign_(foreign), place_(std::move(place)) {}

  const Config* find(const std::string& path) const {
    const Config* const node = foreign_.find_path(path);
    return node == nullptr || node->is_null() ? nullptr : node;
  }
  int64_t number(const std::string& path, int64_t fallback) const {
    const Config* const node = find(path);
    if (node == nullptr) return fallback;
    const int64_t value = node->as_int(place_ + "." + path);
    if (value < 0 || value > kLargest) {
      refuse(path, "a number from 0 to " + std::to_string(kLargest));
    }
    return value;
  }
  /// The first of these keys that has a value.
  int64_t first_number(std::initializer_list<const char*> paths, int64_t fallback) const {
    for (const char* path : paths) {
      if (find(path) != nullptr) return number(path, fallback);
    }
    return fallback;
  }
  double share(const std::string& path, double fallback) const {
    const Config* const node = find(path);
    return node == nullptr ? fallback : node->as_double(place_ + "." + path);
  }
  std::vector<std::string> texts(const std::string& path) const {
    std::vector<std::string> texts;
    const Config* const node = find(path);
    if (node == nullptr || !node->is_list()) return texts;
    for (const Config& item : node->items()) texts.push_back(item.text());
    return texts;
  }
  std::vector<int64_t> numbers(const std::string& path) const {
    std::vector<int64_t> numbers;
    const Config* const node = find(path);
    if (node == nullptr || !node->is_list()) return numbers;
    for (const Config& item : node->items()) {
      numbers.push_back(item.as_int(place_ + "." + path));
      if (numbers.back() < 0 || numbers.back() > kLargest) {
        refuse(path, "numbers from 0 to " + std::to_string(kLargest));
      }
    }
    return numbers;
  }
  /// Refuses a key that has none of these values. A missing key is fine.
  void only(const std::string& path, std::initializer_list<const char*> known) const {
    const Config* const node = find(path);
    if (node == nullptr) return;
    std::string expected;
    for (const char* value : known) {
      if (text_or_null(node) == value) return;
      expected += (expected.empty() ? "" : " or ") + std::string(value);
    }
    refuse(path, expected);
  }
  /// The same for the last part of a class's name.
  void only_class(const std::string& path, std::initializer_list<const char*> known) const {
    const Config* const node = find(path);
    if (node == nullptr) return;
    std::string expected;
    const std::string name = text_or_null(node);
    for (const char* value : known) {
      if (name.substr(name.rfind('.') + 1) == value) return;
      expected += (expected.empty() ? "" : " or ") + std::string(value);
    }
    refuse(path, expected);
  }
  /// How the losses of rows become one.
  std::string reduction(const std::string& path, const char* fallback) const {
    only(path, {"mean_batch", "mean", "mean_volume", "sum"});
    return find(path) == nullptr ? fallback : find(path)->text();
  }
  [[noreturn]] void refuse(const std::string& path, const std::string& expected) const {
    throw_unsupported_config(place_, path, text_or_null(foreign_.find_path(path)), expected);
  }

 private:
  const Config& foreign_;
  std::string place_;
};

CtcConfig nemo_ctc(const Reader& reader, const std::string& block, const std::string& prefix,
                   std::vector<std::string>& vocabulary) {
  reader.only_class(block + "._target_", {"ConvASRDecoder"});
  reader.only(block + ".add_blank", {"true"});
  CtcConfig ctc;
  for (const std::string& path : {block + ".vocabulary", std::string("labels")}) {
    if (vocabulary.empty()) vocabulary = reader.texts(path);
  }
  const auto labels = static_cast<int64_t>(vocabulary.size());
  const Config* const written = reader.find(block + ".num_classes");
  const bool counts = written != nullptr && written->text() != "-1";
  ctc.num_labels = (counts ? reader.number(block + ".num_classes", labels) : labels) + 1;
  if (ctc.num_labels < 2) reader.refuse(block + ".vocabulary", "the labels");
  ctc.blank = ctc.num_labels - 1;
  ctc.prefix = prefix + "decoder_layers.0.";
  ctc.reduction = reader.reduction(block == "decoder" ? "ctc_reduction" : "aux_ctc.ctc_reduction",
                                   "mean_batch");
  return ctc;
}

TransducerOptions nemo_transducer(const Reader& reader) {
  reader.only_class("decoder._target_", {"RNNTDecoder"});
  reader.only_class("joint._target_", {"RNNTJoint"});
  reader.only("decoder.normalization_mode", {"null"});
  reader.only("decoder.blank_as_pad", {"true"});
  TransducerOptions options;
  for (const char* path : {"joint.vocabulary", "decoder.vocabulary", "labels"}) {
    if (options.vocabulary.empty()) options.vocabulary = reader.texts(path);
  }
  const auto labels = static_cast<int64_t>(options.vocabulary.size());
  const int64_t classes = reader.first_number({"joint.num_classes", "decoder.vocab_size"}, labels);
  options.vocabulary.resize(static_cast<size_t>(classes));
  if (classes < 1) reader.refuse("joint.vocabulary", "the labels");
  for (const char* path :
       {"decoding.durations", "loss.tdt_kwargs.durations", "model_defaults.tdt_durations"}) {
    if (options.durations.empty()) options.durations = reader.numbers(path);
  }
  const int64_t extra = reader.number("joint.num_extra_outputs", 0);
  if (extra == 0) options.durations.clear();
  if (extra != static_cast<int64_t>(options.durations.size())) {
    reader.refuse("joint.num_extra_outputs", "as many as decoding.durations has entries");
  }
  options.pred_hidden =
      reader.first_number({"decoder.prednet.pred_hidden", "model_defaults.pred_hidden"}, 640);
  reader.only("decoder.prednet.rnn_hidden_size",
              {"-1", std::to_string(options.pred_hidden).c_str()});
  options.pred_rnn_layers = reader.number("decoder.prednet.pred_rnn_layers", 1);
  options.begins_with_zeros = true;
  options.pred_dropout = reader.share("decoder.prednet.dropout", 0);
  options.joint_dropout = reader.share("joint.jointnet.dropout", 0);
  options.joint_hidden =
      reader.first_number({"joint.jointnet.joint_hidden", "model_defaults.joint_hidden"}, 640);
  reader.only("joint.jointnet.activation", {"relu", "sigmoid", "tanh"});
  if (const Config* const name = reader.find("joint.jointnet.activation")) {
    options.activation = name->text();
  }
  options.max_symbols = reader.first_number(
      {"decoding.greedy.max_symbols", "decoding.greedy.max_symbols_per_step"}, 10);
  return options;
}

RecognizerConfig read_nemo(const Reader& reader) {
  RecognizerConfig found;
  found.encoder = Config::map();
  for (const char* block : {"preprocessor", "encoder"}) {
    if (reader.find(block) == nullptr) reader.refuse(block, "a block of NeMo's ASR model");
    found.encoder[block] = *reader.find(block);
  }
  reader.only_class("preprocessor._target_", {"AudioToMelSpectrogramPreprocessor"});
  reader.only_class("encoder._target_", {"ConformerEncoder"});
  if (reader.find("joint") != nullptr) {
    found.transducer = nemo_transducer(reader);
    found.vocabulary = found.transducer.vocabulary;
    if (reader.find("aux_ctc.decoder") != nullptr) {
      std::vector<std::string> own = found.vocabulary;
      found.ctc_weight = reader.share("aux_ctc.ctc_loss_weight", 0.5);
      found.ctc = nemo_ctc(reader, "aux_ctc.decoder", "ctc_decoder.", own);
    }
  } else {
    found.ctc = nemo_ctc(reader, "decoder", "decoder.", found.vocabulary);
  }
  found.reduction = reader.reduction("rnnt_reduction", "mean_batch");
  found.loss_durations = found.transducer.durations;
  found.sigma = reader.share("loss.tdt_kwargs.sigma", 0);
  found.omega = reader.share("loss.tdt_kwargs.omega", 0);
  const Config* const file = reader.find("tokenizer.model_path");
  const bool is_bpe = text_or_null(reader.find("tokenizer.type")) == "bpe";
  if (is_bpe && file != nullptr) {
    const std::string name = file->text();
    found.tokenizer_file = name.substr(name.find(':') + 1);
  } else if (text_or_null(reader.find("tokenizer.type")) == "wpe") {
    reader.refuse("tokenizer.type", "bpe, agg, or no tokenizer");
  }
  return found;
}

RecognizerConfig read_parakeet(const Config& foreign, const Reader& reader,
                               const std::string& type) {
  RecognizerConfig found;
  found.is_nemo = false;
  found.encoder = foreign;
  const int64_t labels = reader.number("vocab_size", type == "parakeet_ctc" ? 1025 : 8193);
  if (labels < 2) reader.refuse("vocab_size", "at least a label and the blank");
  if (type == "parakeet_ctc") {
    found.ctc = {labels, reader.number("pad_token_id", labels - 1), "ctc_head.", "mean", true};
    found.ctc.reduction = reader.reduction("ctc_loss_reduction", "mean");
    found.ctc.has_zero_infinity = text_or_null(reader.find("ctc_zero_infinity")) != "false";
    if (found.ctc.blank >= labels) reader.refuse("pad_token_id", "a label");
    return found;
  }
  TransducerOptions& options = found.transducer;
  options.vocabulary.resize(static_cast<size_t>(labels - 1));
  options.blank = reader.number("blank_token_id", labels - 1);
  if (*options.blank >= labels) reader.refuse("blank_token_id", "a label");
  options.pred_hidden = options.joint_hidden = reader.number("decoder_hidden_size", 640);
  options.pred_rnn_layers = reader.number("num_decoder_layers", 2);
  options.max_symbols = reader.number("max_symbols_per_step", 10);
  options.limits_steps = true;
  reader.only("hidden_act", {"relu", "sigmoid", "tanh", "silu", "gelu"});
  if (const Config* const name = reader.find("hidden_act")) options.activation = name->text();
  found.reduction = "mean_volume";
  if (type != "parakeet_tdt") return found;
  found.reduction = "mean";
  found.pad = reader.number("pad_token_id", 2);
  found.loss_durations = reader.numbers("durations");
  if (found.loss_durations.empty()) found.loss_durations = {0, 1, 2, 3, 4};
  // transformers goes on by the index of a duration.
  for (size_t i = 0; i < found.loss_durations.size(); ++i) {
    options.durations.push_back(static_cast<int64_t>(i));
  }
  return found;
}

}  // namespace

TransducerOptions TrainedTransducerOptions::networks(int64_t num_labels) const {
  TransducerOptions options = *this;
  options.vocabulary.resize(static_cast<size_t>(num_labels));
  options.begins_with_zeros = true;
  return options;
}

RecognizerConfig read_recognizer(const Config& foreign, const std::string& place) {
  const Reader reader(foreign, place);
  const Config* const type = reader.find("model_type");
  if (type == nullptr) return read_nemo(reader);
  reader.only("model_type", {"parakeet_ctc", "parakeet_rnnt", "parakeet_tdt"});
  return read_parakeet(foreign, reader, type->text());
}

}  // namespace s2s
