#include "nn/speech/encoder_errors.h"

#include "s2s/kinds/encoder.h"

namespace s2s {

Error unsupported_encoder_option(const std::string& key, const std::string& value,
                                 const std::string& supported) {
  return Error(ExitCode::kConfig, "encoder/unsupported",
               key + ": " + value + " is not implemented; use " + supported +
                   ", or convert the model with the tool that made it");
}

Error bad_encoder_value(const std::string& key, const std::string& value,
                        const std::string& expected) {
  return Error(ExitCode::kConfig, "encoder/value",
               key + ": " + value + " is not possible; expected " + expected +
                   "; correct it in the config (s2s-run config show prints all values)");
}

Error encoder_not_streamable(const std::string& key, const std::string& value,
                             const std::string& needed) {
  return Error(ExitCode::kConfig, "encoder/not-streamable",
               "this encoder cannot run on live audio because " + key + " is " + value +
                   "; streaming needs " + needed +
                   "; train with that, or process whole files without --stream");
}

Error encoder_layers(const std::string& asked, const std::string& expected) {
  return Error(
      ExitCode::kConfig, "encoder/layers",
      "model.modality_adapter.target_layer_ids asks for " + asked + "\n  expected: " + expected);
}

void Encoder::select_outputs(const std::vector<int64_t>&, bool) {
  throw encoder_layers("outputs of layers, which this encoder does not have",
                       "an encoder that has them, or another model.modality_adapter.type");
}

}  // namespace s2s
