#include "stt_errors.h"

#include "s2s/error.h"

namespace s2s::duplex_stt {

void throw_no_user_text() {
  throw Error(ExitCode::kConfig, "model/no-user-text",
              "model.predict_user_text is true, but the batch has no text channel of the user\n"
              "  expected: data with the user's turns and their text, such as name: cuts; or "
              "predict_user_text: false");
}

void throw_packed_text() {
  throw Error(ExitCode::kConfig, "model/packed-text",
              "duplex_stt reads one document in each row of text data, but this batch is packed\n"
              "  expected: packing: none in the text data set");
}

void throw_user_turn_token(const std::string& key, const std::string& text) {
  throw Error(ExitCode::kConfig, "model/user-turn-token",
              "the tokenizer has no token for model." + key + " = '" + text +
                  "'\n  expected: text that the tokenizer encodes to at least one id; try "
                  "s2s-run tokenizer encode");
}

void throw_forced_turns() {
  throw Error(ExitCode::kConfig, "model/forced-turns",
              "model.force_turn_taking follows the user's text channel, but "
              "model.predict_user_text is false\n"
              "  expected: predict_user_text: true, or force_turn_taking: false");
}

}  // namespace s2s::duplex_stt
