#include <memory>
#include <optional>
#include <utility>

#include "conversations/conversation_errors.h"
#include "conversations/conversation_rows.h"
#include "conversations/prompt_source.h"
#include "files/command_rules.h"
#include "loader/audio_cache.h"
#include "loader/cuts_source.h"
#include "s2s/data/conversation_source.h"
#include "s2s/data/duplex_data.h"

namespace s2s {
namespace {

using data::ConversationRules;

/// Reads the keys of the data block that conversations use.
DuplexDataOptions read_data_block(const DataContext& context, Findings findings) {
  DuplexDataOptions duplex;
  if (context.data == nullptr) return duplex;
  const size_t before = findings.errors().size();
  OptionReader(*context.data, "data", findings, DuplexDataOptions::other_keys()).read(duplex);
  if (findings.errors().size() > before) findings.throw_if_any();
  return duplex;
}

ConversationRules rules_of(const data::DatasetOptions& options, const DuplexDataOptions& duplex,
                           const std::vector<PromptFormat>& formats, const std::string& path) {
  ConversationRules rules;
  rules.prompt_format =
      data::find_prompt_format(formats, options.batches.prompt_format.value_or(""), path);
  rules.audio_locator_tag = options.batches.audio_locator_tag.value_or(rules.audio_locator_tag);
  rules.sample_rate_hz = options.source.sample_rate.value_or(duplex.source_sample_rate);
  rules.token_equivalent_duration_s = options.batches.token_equivalent_duration.value_or(0);
  return rules;
}

/// If batches are measured in positions of the language model, limits are, too (NeMo's
/// MultimodalSamplingConstraint). Options that the rules take over are removed, because other
/// readers cannot use them.
void take_over(data::CutBatchesOptions& o, const ConversationRules& rules,
               const std::string& path) {
  if (o.use_multimodal_sampling) {
    if (rules.token_equivalent_duration_s <= 0) {
      throw data::conversation_errors::no_token_duration(path);
    }
    o.batch_duration = o.batch_tokens;
    o.quadratic_duration = o.quadratic_factor;
    o.max_tps = o.max_tpt.is_list() ? std::exchange(o.max_tpt, {}) : Config();
  }
  o.prompt_format.reset();
  o.token_equivalent_duration.reset();
  o.batch_tokens.reset();
  o.quadratic_factor.reset();
  o.use_multimodal_sampling = false;
}

/// `added`: prompts that are to be answered get these turns; null: batches to learn from.
std::unique_ptr<DataSource> open_source(const Config& block,
                                        const std::vector<PromptFormat>& formats,
                                        const data::AddedTurns* added, const DataContext& context) {
  data::DatasetBlock read = data::read_dataset_block(block, context.path);
  const data::CutsSourceOptions options = read.options.source;
  const DuplexDataOptions duplex = read_data_block(context, read.findings);
  ConversationRules rules = rules_of(read.options, duplex, formats, context.path);
  // A finite set is a validation's, which may compare answers.
  rules.has_prompts = added != nullptr || !options.repeat;
  rules.needs_answer = added == nullptr;
  if (added != nullptr) rules.added = *added;
  const bool whole = read.options.batches.measure_total_length;
  const bool in_tokens = read.options.batches.use_multimodal_sampling;
  const Config& bins = read.options.batches.bucket_duration_bins;
  const bool is_2d = bins.is_list() && !bins.items().empty() && bins.items().front().is_list();
  take_over(read.options.batches, rules, context.path);
  allow_typed_commands(block);
  if (duplex.allow_commands) allow_data_commands();
  set_command_timeout(duplex.command_timeout_s);
  data::SourceParts parts;
  parts.audio =
      options.cache_audio ? std::make_unique<data::AudioCache>() : std::make_unique<AudioLoader>();
  if (context.tokenizer != nullptr) {
    parts.kind = std::make_shared<data::ConversationRows>(rules, *context.tokenizer);
  }
  parts.open = [read = std::move(read), rules, whole, is_2d,
                in_tokens](const data::CutBatchesContext& where) {
    data::CutBatchesContext here = where;
    here.as_prompts = true;
    if (in_tokens) {
      here.measure = [rules, whole, is_2d, tokenizer = where.tokenizer](const Cut& cut) {
        const data::ConversationLength length =
            data::length_of(data::conversation_of(cut, rules.needs_answer), rules, *tokenizer);
        const int64_t counted = whole && !is_2d ? length.total() : length.input;
        return data::CutSize{static_cast<double>(counted), length.output};
      };
    }
    return data::open_cut_batches(read, here);
  };
  BatchSpec spec{duplex, 0, options.codes_field.value_or("")};
  return std::make_unique<data::CutsSource>(options, spec, context, std::move(parts));
}

}  // namespace

std::unique_ptr<DataSource> open_conversation_source(const Config& block,
                                                     const std::vector<PromptFormat>& formats,
                                                     const DataContext& context) {
  return open_source(block, formats, nullptr, context);
}

std::unique_ptr<DataSource> data::open_prompt_source(const Config& block,
                                                     const std::vector<PromptFormat>& formats,
                                                     const AddedTurns& added,
                                                     const DataContext& context) {
  return open_source(block, formats, &added, context);
}

OptionTable list_conversation_source_options() { return list_options<data::DatasetOptions>(); }

}  // namespace s2s
