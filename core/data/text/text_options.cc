#include "text/text_options.h"

namespace s2s::data {

void DocumentOptions::visit(OptionVisitor& v) {
  v("format", format,
    "form of the lines; auto: found by the keys of each line, which may also be Alpaca's "
    "(instruction, input, output), ShareGPT's (conversations) or TRL's (prompt, completion)",
    one_of({"auto", "text", "prompt_response", "messages"}));
  v("text_key", text_key, "key of a plain text");
  v("prompt_key", prompt_key, "key of a prompt");
  v("response_key", response_key, "key of the response to a prompt");
  v("messages_key", messages_key, "key of the messages of a chat, each with role and content");
  v("chat_template", chat_template,
    "what turns messages into text: tokenizer (the template in the folder of the tokenizer), "
    "chatml, or a file with a Jinja template");
  v("labels", labels,
    "tokens that the model learns to predict; all: every token but the first; response: those of "
    "responses, or of the assistant's messages and the end of each turn",
    one_of({"all", "response"}));
}

void TextSourceOptions::visit(OptionVisitor& v) {
  v("path", path,
    "file with JSON objects, one on each line (.jsonl, .jsonl.gz) or in an array (.json); a "
    "folder or pattern of such files; or a list of these");
  document.visit(v);
  v("max_seq_len", max_seq_len, "maximum number of tokens in a document and in a row", at_least(2));
  v("long_text", long_text,
    "what to do with a document of more than max_seq_len tokens; cut: keep its first tokens; drop: "
    "leave it out; error: end the run",
    one_of({"cut", "drop", "error"}));
  v("packing", packing,
    "none: one document in a row, padded on the right; sequential: documents fill a row in their "
    "order, and attention does not cross them",
    one_of({"none", "sequential"}));
  v("batch_size", batch_size, "rows in a batch", at_least(1));
  v("shuffle", shuffle, "another order of documents in each epoch");
  v("seed", seed, "random seed of the order; null: trainer.seed", at_least(0));
  v("repeat", repeat, "restart at the end of the data; false: one pass (validation)");
  v("skip_bad", skip_bad,
    "maximum number of lines that are skipped because they make no document; one more ends the run",
    at_least(0));
  v("allow_changed_data", allow_changed_data,
    "if the files or their order have changed since the checkpoint, restart the epoch instead of "
    "ending the run");
}

}  // namespace s2s::data
