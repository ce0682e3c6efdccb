#include "s2s/model_parts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "audio/wave_file.h"
#include "s2s/error.h"
#include "s2s/kinds/model_capabilities.h"

namespace s2s {
namespace {

[[noreturn]] void throw_vocabulary(int64_t tokenizer_size, int64_t backbone_size) {
  throw Error(ExitCode::kConfig, "model/vocabulary",
              "the tokenizer has " + std::to_string(tokenizer_size) +
                  " ids, but the language model embeds only " + std::to_string(backbone_size) +
                  "\n  expected: model.llm.vocab_size of at least " +
                  std::to_string(tokenizer_size));
}

[[noreturn]] void throw_frame_rate(const std::string& part, double rate_hz, double frame_length_s,
                                   const std::string& option, int64_t joined) {
  const double wanted = rate_hz * static_cast<double>(joined) * frame_length_s;
  std::string expected = "equal rates";
  if (!option.empty() && std::round(wanted) >= 1 && std::abs(wanted - std::round(wanted)) < 1e-6) {
    expected = option + ": " + std::to_string(std::llround(wanted));
  }
  throw Error(ExitCode::kConfig, "model/frame-rate",
              part + " has " + std::to_string(rate_hz) + " frames per second" +
                  (joined > 1 ? " (" + option + ": " + std::to_string(joined) + ")" : "") +
                  ", but data.frame_length is " + std::to_string(frame_length_s) + " s (" +
                  std::to_string(1 / frame_length_s) +
                  " frames per second)\n  expected: " + expected);
}

[[noreturn]] void throw_sample_rate(const std::string& part, int64_t rate_hz,
                                    const std::string& key, int64_t data_rate_hz) {
  throw Error(ExitCode::kConfig, "model/sample-rate",
              part + " uses " + std::to_string(rate_hz) + " Hz, but " + key + " is " +
                  std::to_string(data_rate_hz) + " Hz\n  expected: equal rates; set " + key + ": " +
                  std::to_string(rate_hz));
}

}  // namespace

void throw_part_missing(const std::string& path, const Config& model) {
  throw Error(ExitCode::kConfig, "model/part-missing",
              path + " has no name (" + model.origin().text() + ")\n  expected: " + path +
                  ": { name: ... }\n  see: s2s-run plugin list");
}

void throw_token_ids(const std::string& problem) {
  throw Error(ExitCode::kConfig, "model/token-id",
              problem +
                  "\n  expected: model.tokens: { bos: ..., eos: ..., pad: ... }, three "
                  "different ids of the vocabulary");
}

void throw_not_translated(const std::string& path, const Config& value,
                          const std::string& expected) {
  throw Error(ExitCode::kConfig, "model/translate",
              path + " = '" + value.text() + "' is not supported\n  expected: " + expected);
}

SpecialIds special_ids_of(const TokenIdOptions& asked, const Tokenizer* tokenizer,
                          int64_t vocab_size) {
  const SpecialIds known = tokenizer != nullptr ? tokenizer->special_ids() : SpecialIds{};
  const SpecialIds ids{asked.bos.value_or(known.bos), asked.eos.value_or(known.eos),
                       asked.pad.value_or(known.pad)};
  for (const auto& [name, id] : {std::pair{"bos", ids.bos}, {"eos", ids.eos}, {"pad", ids.pad}}) {
    if (id >= 0 && id < vocab_size) continue;
    throw_token_ids(std::string(name) + " = " + std::to_string(id) +
                    " is not an id of a vocabulary of " + std::to_string(vocab_size));
  }
  if (ids.bos == ids.eos || ids.bos == ids.pad || ids.eos == ids.pad) {
    throw_token_ids("bos = " + std::to_string(ids.bos) + ", eos = " + std::to_string(ids.eos) +
                    " and pad = " + std::to_string(ids.pad) + " are not distinct");
  }
  return ids;
}

const Tokenizer& required_tokenizer(const Tokenizer* tokenizer) {
  if (tokenizer != nullptr) return *tokenizer;
  throw Error(ExitCode::kConfig, "model/no-tokenizer",
              "this model was built without a tokenizer and can neither read nor write text\n"
              "  expected: model.tokenizer.name and .path\n"
              "  see: s2s-run plugin list --kind tokenizer");
}

void check_vocabulary(const Tokenizer* tokenizer, int64_t vocab_size) {
  if (tokenizer == nullptr || tokenizer->vocab_size() <= vocab_size) return;
  throw_vocabulary(tokenizer->vocab_size(), vocab_size);
}

at::Tensor TokenLossWeights::times(const at::Tensor& weights, const at::Tensor& labels,
                                   const SpecialIds& ids) const {
  if (all_one()) return weights;
  at::Tensor kind = at::full_like(weights, text);
  kind = at::where(labels.eq(ids.pad), pad, kind);
  kind = at::where(labels.eq(ids.bos), bos, kind);
  return weights * at::where(labels.eq(ids.eos), eos, kind);
}

void register_language_model(Block& model, Block& llm, bool with_head) {
  Block* const embedding = llm.find_block("embed_tokens");
  Block* const head = with_head ? llm.find_block("lm_head") : nullptr;
  S2S_ASSERT(embedding != nullptr, "every backbone names its embedding embed_tokens");
  llm.release_block("embed_tokens");
  model.register_block("embed_tokens", *embedding);
  model.register_block("llm", llm);
  if (head == nullptr) return;
  llm.release_block("lm_head");
  model.register_block("lm_head", *head);
}

void rest_frozen(std::initializer_list<Block*> parts) {
  for (Block* const part : parts) {
    if (part == nullptr) continue;
    const auto parameters = part->named_parameters();
    const bool trains = std::any_of(parameters.begin(), parameters.end(),
                                    [](const NamedTensor& p) { return p.tensor->requires_grad(); });
    if (!trains) part->train(false);
  }
}

void add_sum(MetricSums& sums, const std::string& name, const at::Tensor& values,
             const at::Tensor& mask) {
  auto& [sum, count] = sums[name];
  sum += (values.to(at::kDouble) * mask).sum().item<double>();
  count += mask.sum().item<double>();
}

double frame_length_of(const Config* data) {
  const Config* const length = data == nullptr ? nullptr : data->find("frame_length");
  return length == nullptr ? 0.08 : length->as_double("data.frame_length");
}

std::optional<int64_t> target_sample_rate_of(const Config* data) {
  const Config* const rate = data == nullptr ? nullptr : data->find("target_sample_rate");
  if (rate == nullptr || rate->is_null()) return std::nullopt;
  return rate->as_int("data.target_sample_rate");
}

void check_sample_rate(const std::string& part, int64_t rate_hz, const Config* data,
                       const std::string& key) {
  const Config* asked = data != nullptr ? data->find(key) : nullptr;
  if (asked == nullptr || asked->is_null()) return;
  const int64_t data_rate_hz = asked->as_int("data." + key);
  if (data_rate_hz != rate_hz) throw_sample_rate(part, rate_hz, "data." + key, data_rate_hz);
}

void check_frame_rate(const std::string& part, double rate_hz, double frame_length_s,
                      const std::string& option, int64_t joined) {
  if (std::abs(rate_hz * frame_length_s - 1) > 1e-6) {
    throw_frame_rate(part, rate_hz, frame_length_s, option, joined);
  }
}

at::Tensor read_voice(const std::string& path, int64_t sample_rate_hz) {
  return read_wave(path, /*channel=*/0, sample_rate_hz).samples_S;
}

void throw_no_capability(const std::string& type, const std::string& what) {
  throw Error(ExitCode::kConfig, "model/capability",
              "a model of type " + type + " cannot " + what +
                  "\n  expected: a command for this type, or another model.type\n"
                  "  see: s2s-run plugin list --kind model");
}

const Config& required_key(const Config& node, const std::string& key, const std::string& path) {
  const Config* found = node.find(key);
  if (found == nullptr) throw_not_translated(path + "." + key, Config(), "a value");
  return *found;
}

Config translate_llm_config(const Config& llm_config) {
  Config llm = Config::map();
  llm["name"] = required_key(llm_config, "model_type", "llm_config");
  llm["translate_from"] = llm_config;
  return llm;
}

}  // namespace s2s
