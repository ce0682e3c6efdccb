#include "s2s/plugin.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "decoding.h"
#include "model_change.h"
#include "s2s/nemo_archive.h"
#include "s2s/nn/weights.h"
#include "speech_recognizer.h"
#include "speech_recognizer_errors.h"
#include "speech_recognizer_options.h"
#include "trained_run.h"

namespace s2s::speech_recognizer {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLargestTokenizer = uint64_t{64} << 20;

/// A file that is removed again.
class BriefFile {
 public:
  explicit BriefFile(const std::string& content) {
    std::error_code error;
    const fs::path folder = fs::temp_directory_path(error);
    if (error) throw cannot_unpack("TMPDIR", error.message());
    path_ = (folder / "s2s-tokenizer-XXXXXX.model").string();
    const int file = ::mkstemps(path_.data(), 6);
    if (file < 0) throw cannot_unpack(path_, std::strerror(errno));
    ::close(file);
    errno = 0;
    std::ofstream out(path_, std::ios::binary);
    out << content;
    out.close();
    if (!out) throw cannot_unpack(path_, std::strerror(errno));
  }
  ~BriefFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  BriefFile(const BriefFile&) = delete;
  BriefFile& operator=(const BriefFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::unique_ptr<Tokenizer> tokenizer_at(const std::string& kind, const std::string& path,
                                        const BuildContext& context) {
  Config node = Config::map();
  node["name"] = Config::scalar(kind, true);
  node["path"] = Config::scalar(path, true);
  BuildContext own = context;
  own.path += ".tokenizer";
  own.base_dir = "/";
  return context.registries->create<Tokenizer>(node, own);
}

/// Null: the configuration has the texts of the labels.
std::unique_ptr<Tokenizer> tokenizer_of(const RecognizerConfig& config, const std::string& path,
                                        const BuildContext& context) {
  if (path.empty()) return nullptr;
  if (!config.is_nemo) return tokenizer_at("hf", fs::absolute(path).string(), context);
  if (config.tokenizer_file.empty()) return nullptr;
  const BriefFile model(read_nemo_file(path, config.tokenizer_file, kLargestTokenizer));
  return tokenizer_at("sentencepiece", model.path(), context);
}

/// The configuration in `path`, or the option `model`.
Config model_of(const SpeechRecognizerOptions& options, const std::string& path,
                const std::string& place) {
  if (!options.model.is_null()) return options.model;
  if (path.empty()) throw no_model(place);
  if (is_nemo_archive(path) || path.ends_with(".nemo")) return read_nemo_config(path);
  return read_json((fs::path(path) / "config.json").string());
}

/// Errors: [scorer/no-decoder].
void require_decoder(const RecognizerConfig& config, DecoderKind kind, const std::string& place) {
  if (kind == DecoderKind::kCtc && config.ctc.num_labels == 0) {
    throw no_decoder(place, "CTC", "transducer");
  }
  if (kind == DecoderKind::kTransducer && !config.transducer.is_there()) {
    throw no_decoder(place, "transducer", "ctc");
  }
}

/// The parts of a model of NeMo or transformers. `node`: the scorer's options.
SpeechRecognizer::Parts foreign_parts(const SpeechRecognizerOptions& options, const Config& model,
                                      const Config& node, const std::string& path,
                                      const ScorerContext& context) {
  SpeechRecognizer::Parts parts;
  parts.config = read_recognizer(model, path.empty() ? context.path + ".model" : path);
  BuildContext below = context;
  below.path += ".encoder";
  const Component<Encoder>& encoder =
      context.registries->get<Encoder>(options.encoder, node, below.path);
  if (encoder.translate == nullptr) {
    throw_unsupported_config(below.path, "encoder", options.encoder, "one that reads NeMo's");
  }
  Config encoder_options = encoder.translate(parts.config.encoder);
  change_attention(options.model_change.conformer, context.path, encoder_options);
  parts.encoder = encoder.create(encoder_options, below);
  parts.tokenizer = tokenizer_of(parts.config, path, context);
  parts.weights_path = path;
  return parts;
}

template <DecoderKind kKind>
std::unique_ptr<Scorer> create(const Config& node, const ScorerContext& context) {
  const auto options = read_options<SpeechRecognizerOptions>(node, context.path);
  const std::string path = options.path ? resolve_path(*options.path, context.base_dir) : "";
  const std::string checkpoint = options.model.is_null() ? checkpoint_of_run(path) : "";
  const std::string place = path.empty() ? context.path + ".model" : path;
  const Config model = checkpoint.empty() ? model_of(options, path, context.path) : Config::map();
  SpeechRecognizer::Parts parts =
      checkpoint.empty() ? foreign_parts(options, model, node, path, context)
                         : parts_of_run(checkpoint, options.model_change.conformer, context);
  require_decoder(parts.config, kKind, place);
  parts.batch_size = options.batch_size;
  const std::string known = strategies_of(parts.config, kKind);
  const Config merged = with_decoding_of(model, place, kKind, known, node, context.warn);
  parts.decoding = read_options<SpeechRecognizerOptions>(merged, context.path).decoding;
  require_strategy(parts.decoding, known, context.path);
  auto recognizer = std::make_unique<SpeechRecognizer>(std::move(parts), kKind);
  recognizer->materialize(context.device, at::kFloat, 0, /*pretrained=*/checkpoint.empty());
  if (!checkpoint.empty()) {
    const NameMap ours = {{{"**", "**"}}, {"ctc.**", "transducer.**"}};  // of a hybrid: one of them
    load_weights(*recognizer, ours, WeightFiles::open(checkpoint));
  }
  recognizer->train(false);
  return recognizer;
}

/// Reference files have a configuration and no folder.
Config as_model(const Config& foreign) {
  Config options = Config::map();
  options["model"] = foreign;
  return options;
}

template <DecoderKind kKind>
Component<Scorer> component(const std::string& name, const std::string& summary) {
  return {.name = name,
          .summary = summary,
          .create = create<kKind>,
          .options = list_options<SpeechRecognizerOptions>,
          .translate = as_model,
          .weights = {{"nvidia/parakeet-ctc-0.6b", "CC-BY-4.0"},
                      {"nvidia/parakeet-rnnt-0.6b", "CC-BY-4.0"},
                      {"nvidia/parakeet-tdt-0.6b-v2", "CC-BY-4.0"}}};
}

}  // namespace
}  // namespace s2s::speech_recognizer

S2S_PLUGIN("speech_recognizer", "0.1.0", "Apache-2.0",
           "scorer:ctc\nscorer:transducer\nscorer:nemo_ctc\nscorer:nemo_rnnt\nscorer:nemo_tdt\n"
           "scorer:nemo_hybrid\nscorer:parakeet_ctc\nscorer:parakeet_rnnt\nscorer:parakeet_tdt") {
  using s2s::speech_recognizer::component;
  using s2s::speech_recognizer::DecoderKind;
  registrar.add(component<DecoderKind::kCtc>(
      "ctc", "the CTC decoder of an ASR model of NeMo, or of ParakeetForCTC"));
  registrar.add(component<DecoderKind::kTransducer>(
      "transducer", "the RNN-T or TDT decoder of an ASR model of NeMo, or of Parakeet"));
  // The same under the names of reference files.
  for (const char* name : {"nemo_ctc", "parakeet_ctc"}) {
    registrar.add(component<DecoderKind::kCtc>(name, "ctc, as reference files call it"));
  }
  for (const char* name :
       {"nemo_rnnt", "nemo_tdt", "nemo_hybrid", "parakeet_rnnt", "parakeet_tdt"}) {
    registrar.add(
        component<DecoderKind::kTransducer>(name, "transducer, as reference files call it"));
  }
}
