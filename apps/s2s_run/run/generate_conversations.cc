// generate, for a model that takes audio and writes text: answers to recordings and conversations.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "conversations/prompt_source.h"
#include "convert/source_files.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s/kinds/backbone.h"
#include "s2s/scores/texts.h"
#include "s2s_run/run/generate.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

/// A prompt and what is known about it.
struct Question {
  ordered_json known;  // how its line begins
  std::string title;
  std::optional<std::string> reference;
  TextPrompt prompt;
};

/// The text of the first of `keys` in the configuration that has one.
std::optional<std::string> first_text(const Config& config, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    const Config* const found = config.find_path(key);
    if (found != nullptr && found->is_scalar() && !found->text().empty()) return found->text();
  }
  return std::nullopt;
}

/// The prompt format and tag that the model was trained with.
data::ConversationRules rules_of(const GenerateArguments& arguments, const AskedModel& model) {
  data::ConversationRules rules;
  const auto places = [](const std::string& key) -> std::vector<std::string> {
    return {"model." + key, "data.train_ds." + key, "data.validation_ds." + key};
  };
  const std::string format = first_text(model.config, places("prompt_format")).value_or("");
  rules.prompt_format = data::find_prompt_format(known_prompt_formats(model.registries), format,
                                                 "model.prompt_format");
  rules.audio_locator_tag =
      first_text(model.config, places("audio_locator_tag")).value_or(rules.audio_locator_tag);
  if (arguments.chat) {
    throw_generate_usage(fmt::format(
        "--chat: a model of type {} has a prompt format, which always writes a user's turn",
        model.type));
  }
  rules.sample_rate_hz = model.writer.source_sample_rate_hz();
  rules.needs_answer = false;
  rules.added.system = arguments.system_prompt;
  return rules;
}

/// Answers questions in batches, and sums up.
class Interview {
 public:
  Interview(const GenerateArguments& arguments, TextGenerator& writer)
      : arguments_(arguments),
        options_(text_options_of(arguments, writer.tokenizer())),
        writer_(writer),
        lines_(arguments) {}

  /// One batch.
  void ask(const std::vector<Question>& questions) {
    std::vector<TextPrompt> prompts;
    for (const Question& question : questions) prompts.push_back(question.prompt);
    const auto begin = Clock::now();
    const std::vector<TextAnswer> answers =
        writer_.continue_prompts(prompts, options_, arguments_.sampling);
    wall_s_ += std::chrono::duration<double>(Clock::now() - begin).count();
    for (size_t i = 0; i < questions.size(); ++i) add(questions[i], answers[i]);
  }

  void tell() const {
    if (arguments_.json) return;
    if (num_compared_ > 0) {
      const auto words = static_cast<double>(errors_.reference_length);
      const auto share = [&](int64_t count) {
        return words > 0 ? fmt::format("{:.2f}%", 100 * static_cast<double>(count) / words) : "-";
      };
      fmt::print("WER: {} [ins={} del={} sub={}] of {} in {} (normalizer: {})\n",
                 share(errors_.errors()), share(errors_.insertions), share(errors_.deletions),
                 share(errors_.substitutions), counted(errors_.reference_length, "word"),
                 counted(num_compared_, "answer"), arguments_.normalizer);
    }
    if (audio_s_ > 0)
      fmt::print("RTFx: {:.1f} (seconds of audio in a second)\n", audio_s_ / wall_s_);
    fmt::print("TPS: {:.2f} (tokens of answers in a second)\n",
               static_cast<double>(num_tokens_) / wall_s_);
  }

 private:
  std::string normalized(const std::string& text) const {
    if (arguments_.normalizer == "english") return normalize_english(text);
    return arguments_.normalizer == "basic" ? normalize_basic(text) : text;
  }

  void add(const Question& question, const TextAnswer& answer) {
    if (!arguments_.json) {
      fmt::print("{}\n  {}\n", printable(question.title), printable(answer.text));
    }
    ordered_json line = question.known;
    if (question.reference) {
      if (!arguments_.json) fmt::print("  reference: {}\n", printable(*question.reference));
      line["reference"] = *question.reference;
      errors_ +=
          word_errors(normalized(*question.reference), normalized(with_unknown_words(answer.text)));
      ++num_compared_;
    }
    std::fflush(stdout);
    line["text"] = answer.text;
    line["tokens"] = answer.tokens;
    line["ended"] = answer.is_ended;
    lines_.add(line);
    num_tokens_ += static_cast<int64_t>(answer.tokens.size()) - (answer.is_ended ? 1 : 0);
    for (const at::Tensor& audio_S : question.prompt.audios_S) {
      audio_s_ += static_cast<double>(audio_S.numel()) /
                  static_cast<double>(writer_.source_sample_rate_hz());
    }
  }

  const GenerateArguments& arguments_;
  TextGenerationOptions options_;
  TextGenerator& writer_;
  AnswerLines lines_;
  ErrorCounts errors_;
  int64_t num_compared_ = 0, num_tokens_ = 0;
  double wall_s_ = 0, audio_s_ = 0;
};

Question text_question(const std::string& text, const data::ConversationRules& rules,
                       const Tokenizer& tokenizer) {
  data::AudioConversation conversation{text, "the prompt", "", {{"user", text, nullptr}}};
  data::add_turns(conversation, rules.added, rules.audio_locator_tag);
  Question question{{{"prompt", text}}, text, {}, {}};
  question.prompt.ids = data::encode_conversation(conversation, rules, tokenizer).ids;
  return question;
}

Question recording_question(const HeardRecording& heard, const data::ConversationRules& rules,
                            const Tokenizer& tokenizer) {
  data::AudioConversation conversation{
      heard.path, printable_name(heard.path), "", {{"user", "", std::make_shared<const Cut>()}}};
  data::add_turns(conversation, rules.added, rules.audio_locator_tag);
  const double duration_s =
      static_cast<double>(heard.wave.samples_S.numel()) / static_cast<double>(rules.sample_rate_hz);
  Question question{{{"id", heard.path}, {"duration", duration_s}}, heard.path, {}, {}};
  question.prompt.ids = data::encode_conversation(conversation, rules, tokenizer).ids;
  question.prompt.audios_S = {heard.wave.samples_S};
  return question;
}

/// The questions of a batch of conversations.
std::vector<Question> questions_of(const Batch& batch, const AskedModel& model) {
  const std::vector<TextPrompt> prompts = model.writer.prompts_of(batch);
  if (prompts.empty()) throw_no_capability(model.type, "answer the conversations of a file");
  const at::Tensor has_answer_B = batch.others.at("loss_mask").any(1).contiguous();
  std::vector<Question> questions;
  for (size_t b = 0; b < prompts.size(); ++b) {
    Question& question = questions.emplace_back();
    int64_t num_samples = 0;
    for (const at::Tensor& audio_S : prompts[b].audios_S) num_samples += audio_S.numel();
    question.known = {{"id", batch.ids[b]},
                      {"duration", static_cast<double>(num_samples) /
                                       static_cast<double>(model.writer.source_sample_rate_hz())}};
    question.title = batch.ids[b];
    question.prompt = prompts[b];
    if (has_answer_B.const_data_ptr<bool>()[b]) question.reference = batch.target_texts[b];
  }
  return questions;
}

std::unique_ptr<DataSource> open_set(const Config& entry, int64_t batch_size,
                                     const data::ConversationRules& rules,
                                     const AskedModel& model) {
  Config block = Config::map();
  block["input_cfg"] = Config::list({entry});
  block["prompt_format"] = Config::scalar(rules.prompt_format.name, true);
  block["audio_locator_tag"] = Config::scalar(rules.audio_locator_tag, true);
  block["sample_rate"] = Config::scalar(std::to_string(rules.sample_rate_hz));
  block["batch_size"] = Config::scalar(std::to_string(batch_size));
  block["repeat"] = Config::scalar("false");
  DataContext context;
  context.path = "--input";
  context.tokenizer = &model.writer.tokenizer();
  context.warn = model.warn;
  return data::open_prompt_source(block, {rules.prompt_format}, rules.added, context);
}

/// Everything that is asked: what is in memory, then sets.
struct Agenda {
  std::vector<Question> questions;
  std::vector<std::unique_ptr<DataSource>> sets;
};

Agenda agenda_of(const GenerateArguments& arguments, const AskedModel& model) {
  data::ConversationRules rules = rules_of(arguments, model);
  const Tokenizer& tokenizer = model.writer.tokenizer();
  Agenda agenda;
  std::vector<std::string> texts;
  std::vector<Config> entries;
  std::vector<std::string> recordings;
  for (const std::string& path : arguments.inputs) {
    if (convert::is_audio_name(path)) {
      recordings.push_back(path);
    } else if (auto entry = data::input_of(path)) {
      entries.push_back(*entry);
    } else if (fs::is_directory(path)) {
      recordings.push_back(path);
    } else {
      for (const std::string& text : prompts_of_file(path)) texts.push_back(text);
    }
  }
  if (recordings.empty() && entries.empty()) {
    texts.insert(texts.begin(), arguments.prompts.begin(), arguments.prompts.end());
  } else if (arguments.prompts.size() > 1) {
    throw_generate_usage(
        fmt::format("{} --prompt, expected one for all recordings and conversations",
                    arguments.prompts.size()));
  }
  for (const std::string& text : texts) {
    agenda.questions.push_back(text_question(text, rules, tokenizer));
  }
  if (!arguments.prompts.empty()) rules.added.user = arguments.prompts.front();
  for (const HeardRecording& heard :
       read_recordings(recordings, arguments.channel, rules.sample_rate_hz)) {
    agenda.questions.push_back(recording_question(heard, rules, tokenizer));
  }
  for (const Config& entry : entries) {
    agenda.sets.push_back(open_set(entry, arguments.batch_size, rules, model));
  }
  return agenda;
}

}  // namespace

void answer_conversations(const GenerateArguments& arguments, const AskedModel& model) {
  const Agenda agenda = agenda_of(arguments, model);
  if (agenda.questions.empty() && agenda.sets.empty()) {
    throw_no_input(model.type, "--input FILE, or --prompt TEXT");
  }
  Interview interview(arguments, model.writer);
  const auto step = static_cast<std::ptrdiff_t>(arguments.batch_size);
  for (auto at = agenda.questions.begin(); at != agenda.questions.end();) {
    const auto end = at + std::min(step, agenda.questions.end() - at);
    interview.ask({at, end});
    at = end;
  }
  for (const std::unique_ptr<DataSource>& set : agenda.sets) {
    while (const auto batch = set->next()) interview.ask(questions_of(*batch, model));
  }
  interview.tell();
}

}  // namespace s2s::run
