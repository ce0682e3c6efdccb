#pragma once
// What models are put together from: parts by name, special ids, and checks that parts fit. Model
// plugins share it.

#include <ATen/core/Tensor.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

#include "s2s/config.h"
#include "s2s/kinds/model.h"
#include "s2s/kinds/special_ids.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s/options.h"
#include "s2s/registry.h"

namespace s2s {

/// [model/part-missing]: a part of the model has no name.
[[noreturn]] void throw_part_missing(const std::string& path, const Config& model);
/// [model/token-id]: an id is outside the vocabulary, or two ids are equal.
[[noreturn]] void throw_token_ids(const std::string& problem);
/// [model/translate]: a key of a foreign config changes the result and is not supported.
[[noreturn]] void throw_not_translated(const std::string& path, const Config& value,
                                       const std::string& expected);

/// Builds the part `key` of a model. The option `translate_from` of its node contains a foreign
/// config (a Hugging Face config.json, a NeMo block), which the component converts to options.
/// `context`: of the model. Errors: [model/part-missing], [model/translate], those of the
/// component.
template <class T>
std::unique_ptr<T> build_part(const Config& node, const Config& model, const std::string& key,
                              ContextOf<T> context) {
  const Registries& registries = *context.registries;
  context.path += "." + key;
  const Config* name = node.find("name");
  if (name == nullptr) throw_part_missing(context.path, model);
  const Config* foreign = node.find("translate_from");
  if (foreign == nullptr) return registries.create<T>(node, context);
  const Component<T>& component =
      registries.get<T>(name->as_string(context.path + ".name"), node, context.path);
  if (component.translate == nullptr) {
    throw_not_translated(context.path + ".translate_from", *name,
                         "a component that reads foreign configs");
  }
  return component.create(component.translate(*foreign), context);
}

/// model.tokens: ids that override those of the tokenizer.
struct TokenIdOptions {
  std::optional<int64_t> bos, eos, pad;
  void visit(OptionVisitor& v) {
    v("bos", bos, "text id that starts a turn; null: from the tokenizer", at_least(0));
    v("eos", eos, "text id that ends a turn; null: from the tokenizer", at_least(0));
    v("pad", pad, "text id of silence; null: from the tokenizer", at_least(0));
  }
};

/// model.token_loss_weight: weights of a text loss by kind of label.
struct TokenLossWeights {
  double pad = 1, bos = 1, eos = 1, text = 1;
  bool all_one() const { return pad == 1 && bos == 1 && eos == 1 && text == 1; }
  /// `weights` times those of the labels.
  at::Tensor times(const at::Tensor& weights, const at::Tensor& labels,
                   const SpecialIds& ids) const;
  void visit(OptionVisitor& v) {
    v("pad", pad, "weight of PAD labels", at_least(0));
    v("bos", bos, "weight of BOS labels", at_least(0));
    v("eos", eos, "weight of EOS labels", at_least(0));
    v("text", text, "weight of all other labels", at_least(0));
  }
};

/// The special ids of the text channel, distinct ids of the vocabulary. `tokenizer` may be null.
/// Errors: [model/token-id].
SpecialIds special_ids_of(const TokenIdOptions& asked, const Tokenizer* tokenizer,
                          int64_t vocab_size);

/// The tokenizer of a model that reads or writes text. Errors: [model/no-tokenizer] for null.
const Tokenizer& required_tokenizer(const Tokenizer* tokenizer);

/// Checks that the language model embeds every id of the tokenizer, which may be null.
/// Errors: [model/vocabulary].
void check_vocabulary(const Tokenizer* tokenizer, int64_t vocab_size);

/// Registers `llm` in `model`. Its embedding and, with `with_head`, its head become siblings of the
/// decoder, as in NeMo's checkpoints.
void register_language_model(Block& model, Block& llm, bool with_head = true);
/// Puts the blocks without trainable parameters in eval mode (dropout, batch statistics), as NeMo
/// does. Skips null.
void rest_frozen(std::initializer_list<Block*> parts);
/// Adds the sum of `values` where `mask` is true, and the number of these values, to sums[name].
void add_sum(MetricSums& sums, const std::string& name, const at::Tensor& values,
             const at::Tensor& mask);

/// data.frame_length in seconds; 0.08 without one. `data` may be null.
double frame_length_of(const Config* data);
/// data.target_sample_rate in Hz, if it is set. `data` may be null.
std::optional<int64_t> target_sample_rate_of(const Config* data);
/// Checks the sample rate of `part` ("model.encoder") against data.`key`, if the block has it.
/// Errors: [model/sample-rate].
void check_sample_rate(const std::string& part, int64_t rate_hz, const Config* data,
                       const std::string& key);
/// Checks that the part makes one frame per frame of the model. option: of the model, the number of
/// frames that are joined to one of `rate_hz`; "": there is none. Errors: [model/frame-rate].
void check_frame_rate(const std::string& part, double rate_hz, double frame_length_s,
                      const std::string& option = "", int64_t joined = 1);

/// The first channel of an audio file, [S] float32, resampled to `sample_rate_hz`: a speaker's
/// voice that options name. Errors: [data/missing-file], [data/unreadable-audio],
/// [data/empty-audio].
at::Tensor read_voice(const std::string& path, int64_t sample_rate_hz);

/// The value of a key that a foreign config must have. Errors: [model/translate].
const Config& required_key(const Config& node, const std::string& key, const std::string& path);
/// The options `llm` of a model, from the text of a Hugging Face config.json. Errors:
/// [model/translate].
Config translate_llm_config(const Config& llm_config);

}  // namespace s2s
