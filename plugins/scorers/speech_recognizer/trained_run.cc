#include "trained_run.h"

#include <filesystem>

#include "model_change.h"
#include "s2s/model_parts.h"
#include "s2s/nn/weights.h"
#include "speech_recognizer_errors.h"

namespace s2s::speech_recognizer {
namespace {

namespace fs = std::filesystem;

bool is_checkpoint(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "state.json", ignored) && fs::exists(folder / "config.yaml", ignored);
}

/// The checkpoint's own copy of the tokenizer.
std::unique_ptr<Tokenizer> tokenizer_of_run(const Config& model, const fs::path& checkpoint,
                                            const BuildContext& context) {
  const Config* const written = model.find("tokenizer");
  if (written == nullptr || !written->is_map()) {
    throw not_a_recognizer(checkpoint.string(), "it has no tokenizer");
  }
  Config node = *written;
  std::error_code ignored;
  if (fs::is_directory(checkpoint / "tokenizer", ignored)) {
    node["path"] = Config::scalar(fs::absolute(checkpoint / "tokenizer").string(), true);
    node.erase("train");
  }
  BuildContext own = context;
  own.path += ".tokenizer";
  return context.registries->create<Tokenizer>(node, own);
}

}  // namespace

std::string checkpoint_of_run(const std::string& path) {
  if (path.empty()) return "";
  const fs::path last = fs::path(path) / "checkpoints" / "last";
  if (is_checkpoint(last)) return last.string();
  return is_checkpoint(path) ? path : "";
}

SpeechRecognizer::Parts parts_of_run(const std::string& checkpoint, const ConformerChange& change,
                                     const BuildContext& context) {
  const Config config = read_yaml((fs::path(checkpoint) / "config.yaml").string());
  const Config* const model = config.find("model");
  const Config* const encoder = config.find_path("model.encoder");
  const Config* const decoder = config.find_path("model.decoder");
  if (encoder == nullptr || !encoder->is_map() || decoder == nullptr || !decoder->is_scalar()) {
    throw not_a_recognizer(checkpoint, "its model has no encoder and decoder");
  }
  SpeechRecognizer::Parts parts;
  Config encoder_options = *encoder;
  change_attention(change, context.path, encoder_options);
  parts.encoder = build_part<Encoder>(encoder_options, *model, "encoder", context);
  parts.tokenizer = tokenizer_of_run(*model, checkpoint, context);
  const Config* const labels = model->find("num_labels");
  const bool has_labels = labels != nullptr && !labels->is_null();
  const int64_t num_labels =
      has_labels ? labels->as_int("model.num_labels") : parts.tokenizer->vocab_size();
  const bool has_transducer = decoder->text() == "transducer";
  const Config* const weight = model->find("ctc_loss_weight");
  if (!has_transducer || (weight != nullptr && weight->as_double("model.ctc_loss_weight") > 0)) {
    parts.config.ctc.num_labels = num_labels + 1;
    parts.config.ctc.blank = num_labels;
  }
  if (!has_transducer) return parts;
  const Config* const networks = model->find("transducer");
  const auto options = read_options<TrainedTransducerOptions>(
      networks == nullptr ? Config::map() : *networks, "model.transducer");
  parts.config.transducer = options.networks(num_labels);
  return parts;
}

}  // namespace s2s::speech_recognizer
