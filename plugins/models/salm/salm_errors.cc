#include "salm_errors.h"

namespace s2s::salm {

Error audio_count_error(const AudioCount& count) {
  const bool has_no_place = count.places == 0;
  const std::string remedy =
      has_no_place ? "write " + count.tag + " where each audio belongs"
      : count.places < count.audios
          ? "one " + count.tag + " for each audio: add tags, or remove audios"
          : "one audio for each " + count.tag + ": add audios, or remove tags";
  return data_error("salm/audio-count", count.place + " has " + std::to_string(count.audios) +
                                            " audios, but its text has " +
                                            std::to_string(count.places) + " places for them (" +
                                            count.tag + ")\n  expected: " + remedy);
}

Error tag_error(const std::string& tag, const std::string& found) {
  return config_error("salm/tag",
                      "model.audio_locator_tag = '" + tag +
                          "' is not one token of the tokenizer, but " + found +
                          "\n  expected: a special token of the tokenizer, or model.tokenizer."
                          "additional_special_tokens: ['" +
                          tag + "']");
}

Error no_batch_tensor_error(const std::string& name) {
  return config_error("salm/batch",
                      "the batch has no tensor '" + name +
                          "'\n  expected: data sets of conversations (name: conversations)");
}

Error no_id_error(const std::string& name, const std::string& reason) {
  return config_error("tokenizer/special-ids",
                      "model.tokenizer: the tokenizer has no " + name +
                          "_id; expected one, because " + reason + "; set model.tokenizer." + name +
                          "_id to an id that no text uses, or model.tokenizer." + name +
                          "_token to such a token (model." + name + "_token in a file of NeMo)");
}

Error decoder_of_chunks_error() {
  return config_error("salm/asr-decoder",
                      "model.asr_decoder together with model.encoder_chunk_size_seconds\n"
                      "  expected: one of the two, because the decoder transcribes whole audios");
}

Error sampled_beams_error(int64_t num_beams, double temperature) {
  return config_error("salm/sampled-beams",
                      "num_beams = " + std::to_string(num_beams) +
                          " with temperature = " + std::to_string(temperature) +
                          "\n  expected: beam search with temperature 0, or num_beams 1");
}

}  // namespace s2s::salm
