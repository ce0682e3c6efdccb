#include "speech_recognizer_errors.h"

#include <fmt/format.h>

namespace s2s::speech_recognizer {

Error no_model(const std::string& path) {
  return config_error(
      "scorer/no-model",
      fmt::format("{}.path: not set; expected a .nemo archive of an ASR model, a folder of "
                  "Parakeet in Hugging Face's format, or the folder of a run",
                  path));
}

Error no_decoder(const std::string& place, const std::string& wanted, const std::string& other) {
  return config_error("scorer/no-decoder",
                      fmt::format("{}: the model has no {} decoder; expected one that has; for "
                                  "this one write scoring_asr: {{name: {}, ...}}, or --scorer {}",
                                  place, wanted, other, other));
}

Error not_a_recognizer(const std::string& checkpoint, const std::string& reason) {
  return config_error("scorer/not-a-recognizer",
                      fmt::format("{}: {}; expected a run of a speech recognizer (model.type: asr)",
                                  checkpoint, reason));
}

Error cannot_unpack(const std::string& file, const std::string& reason) {
  return data_error("scorer/tokenizer-file",
                    fmt::format("{}: {}; the archive's tokenizer is written there for a moment; "
                                "set TMPDIR to a folder with free space",
                                file, reason));
}

Error unknown_strategy(const std::string& place, const std::string& strategy,
                       const std::string& known) {
  return config_error("scorer/strategy",
                      fmt::format("{}: {}: the model has no such search; expected one of {}", place,
                                  strategy, known));
}

Error bad_model_change(const std::string& place, const std::string& value,
                       const std::string& expected) {
  return config_error("scorer/model-change",
                      fmt::format("{}: {}; expected {}; correct it, or remove model_change to keep "
                                  "the model's attention",
                                  place, value, expected));
}

std::string decodes_greedily(const std::string& place, const std::string& strategy,
                             const std::string& known) {
  return fmt::format(
      "[scorer/greedy] {} is {}, which is not there; the search is greedy, so texts can differ "
      "from NeMo's; to choose one, set decoding.strategy of the scorer to one of {}",
      place, strategy, known);
}

std::string searches_without_model(const std::string& place, const std::string& file) {
  return fmt::format(
      "[scorer/language-model] {} is {}, and there are no language models; the search goes "
      "without it, so texts can differ from NeMo's",
      place, file);
}

}  // namespace s2s::speech_recognizer
