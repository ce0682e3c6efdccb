#pragma once
// Blocks of NeMo's configurations that several of its classes have: read into our options, and
// written from them.

#include <initializer_list>
#include <string>

#include "s2s/config.h"
#include "s2s/foreign_class.h"

namespace s2s {

/// The options `modality_adapter` of a model, from NeMo's block of that name and its block `rote`,
/// which may be null. `path`: of the first, for messages. Errors: [model/translate].
Config translate_modality_adapter(const Config& nemo, const Config* rote, const std::string& path);
/// The options `encoder` and `modality_adapter` of a model, from NeMo's `perception` block. Adds
/// them to `model`. `conformer`: the encoder that reads NeMo's ConformerEncoder. Errors:
/// [model/translate].
void translate_perception(const Config& perception, const std::string& conformer, Config& model);

namespace nemo {

/// The inverse of `listener`, for {model, llm_config, tokens}: adds `llm`, the options of
/// `perception`, `tokens`, and NeMo's loss normalization to `out`. Errors: [model/translate].
void read_listener(const Config& foreign, Config& out);
/// What the classes that listen have in common: the language model, which is named "llm_backbone"
/// and which NeMo replaces by the folder of that name, and `perception`. Errors:
/// [checkpoint/export] for an encoder or a connector that NeMo does not have.
Config listener(const ForeignExport& exported);
/// PEFT's block from our `model.lora`.
Config lora(const Config& options);
/// Refuses options that change the result and that NeMo's class does not have. Errors:
/// [checkpoint/export].
void refuse(const Config& model, std::initializer_list<const char*> keys);
/// Copies the keys that have a value.
void copy(const Config& from, Config& to, std::initializer_list<const char*> keys);
/// The keys of a block that have a value.
Config without_nulls(const Config& block);
/// Whether an option is written and is not false, 0 or "". `node` may be null.
bool is_set(const Config* node);
/// {bos: ID, eos: ID, pad: ID} of the tokens that a block `tokenizer` names by their texts, from
/// the tokenizer.json in its folder; null where there is none.
Config token_ids(const Config& tokenizer);
/// Special tokens by their texts, which NeMo's classes give to the tokenizer's files.
void add_special_tokens(const ForeignExport& exported, Config& block);

}  // namespace nemo
}  // namespace s2s
