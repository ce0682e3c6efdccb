#include "two_level_errors.h"

namespace s2s::two_level {

Error ffn_dim_error(const std::string& path, int64_t value) {
  return config_error("model/ffn-dim", path + " is " + std::to_string(value) +
                                           ", but its rows are a gate and a value of equal width\n"
                                           "  expected: an even number");
}

Error codec_books_error(const std::string& codec, int64_t books, int64_t size, int64_t model_books,
                        int64_t model_size) {
  return config_error(
      "model/codec-books",
      "model.codec '" + codec + "' has " + std::to_string(books) + " codebooks of " +
          std::to_string(size) + " codes, but the model has " + std::to_string(model_books) +
          " of " + std::to_string(model_size) +
          "\n  expected: the codec that the model was trained with, or for a new model "
          "num_codebooks and audio_vocab_size (csm: vocab_size) of the codec");
}

Error no_codec_error(const std::string& what) {
  return config_error("model/no-codec",
                      "this model was built without a codec and cannot get " + what +
                          "\n  expected: model.codec.name, or a data source with codes\n"
                          "  see: s2s-run plugin list --kind codec");
}

Error kyutai_weights_error(const std::string& path, const std::vector<std::string>& problems) {
  std::string list;
  for (const std::string& problem : problems) list += "\n  " + problem;
  return config_error("model/kyutai-weights",
                      "'" + path + "' has Kyutai's names, but not the tensors of this model:" +
                          list + "\n  expected: the config.json that belongs to these weights");
}

Error streams_error(const std::string& name, const at::Tensor& found, const std::string& expected) {
  std::string problem = "is missing";
  if (found.defined()) {
    std::string sizes;
    for (const int64_t size : found.sizes()) {
      sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    }
    problem = "has the sizes [" + sizes + "]";
  }
  return data_error("model/streams",
                    "'" + name + "' of the batch " + problem + "\n  expected: " + expected);
}

Error text_id_error(const std::string& key, int64_t id, int64_t vocab_size) {
  return config_error("model/token-id", "model." + key + " = " + std::to_string(id) +
                                            " is not an id of a vocabulary of " +
                                            std::to_string(vocab_size) +
                                            "\n  expected: an id of the text");
}

Error no_text_ids_error() {
  return config_error("model/token-id",
                      "an empty text cannot be spoken: model.text_bos_id and model.text_eos_id are "
                      "null, and the tokenizer has neither BOS nor EOS"
                      "\n  expected: model.text_bos_id or model.text_eos_id");
}

Error no_pad_error() {
  return config_error("model/token-id",
                      "model.text_padding_weight is not 1, but the text channel has no PAD"
                      "\n  expected: model.tokens.pad, or a tokenizer with one");
}

}  // namespace s2s::two_level
