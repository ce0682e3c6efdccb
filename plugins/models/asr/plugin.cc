#include "s2s/plugin.h"

#include "asr_errors.h"
#include "asr_model.h"
#include "nemo_recipe.h"
#include "s2s/model_parts.h"

namespace s2s::asr {
namespace {

/// Errors: [asr/labels].
int64_t labels_of(const AsrOptions& options, const ModelContext& context) {
  const Tokenizer* const tokenizer = context.tokenizer;
  if (tokenizer == nullptr && !options.num_labels) throw no_labels_error(context.path);
  const int64_t num_ids = tokenizer == nullptr ? 0 : tokenizer->vocab_size();
  const int64_t num_labels = options.num_labels.value_or(num_ids);
  if (num_labels < num_ids) throw too_few_labels_error(context.path, num_labels, num_ids);
  return num_labels;
}

std::unique_ptr<Model> create(const Config& model, const ModelContext& context) {
  auto options = read_options<AsrOptions>(model, context.path);
  options.check(context.path);
  AsrParts parts;
  parts.encoder = build_part<Encoder>(options.encoder, model, "encoder", context);
  check_sample_rate("model.encoder", parts.encoder->sample_rate_hz(), context.data,
                    "source_sample_rate");
  parts.tokenizer = context.tokenizer;
  parts.num_labels = labels_of(options, context);
  parts.base_dir = context.base_dir;
  return std::make_unique<AsrModel>(std::move(options), std::move(parts));
}

Component<Model> component() {
  return {.name = "asr",
          .summary = "speech recognizer: an encoder with a transducer (RNN-T, TDT) or CTC",
          .create = create,
          .options = list_options<AsrOptions>,
          .translate = translate_nemo,
          .data = "transcribed_cuts",
          .foreign = foreign_classes};
}

}  // namespace
}  // namespace s2s::asr

S2S_PLUGIN("asr", "0.1.0", "Apache-2.0", "model:asr") { registrar.add(s2s::asr::component()); }
