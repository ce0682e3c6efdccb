// s2s-run generate [CONFIG] --checkpoint DIR --input WAV... --output DIR [--stream]
// s2s-run generate [CONFIG] --checkpoint DIR --prompt TEXT... [--chat] [--output DIR]
//   The second form also makes a model that speaks a given text speak; it needs --output.
// s2s-run generate [CONFIG] --checkpoint DIR --input WAV|MANIFEST... --prompt TEXT [--output DIR]
// s2s-run generate [CONFIG] --checkpoint DIR --stream --input - [--json] [--output DIR]

#include "s2s_run/run/generate.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "base/interrupt.h"
#include "base/log.h"
#include "checkpoint/checkpoint.h"
#include "run/run.h"
#include "run/run_processes.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

/// CLI11 reads an option's name as the recording when the recording is missing.
std::string not_an_option(const std::string& word) {
  return word.starts_with("--") ? "expected a recording, found the option " + word : "";
}

int run_generate(GenerateArguments arguments, const Invocation& invocation) {
  arguments.json = invocation.json;
  require_one_process("generate");
  check_pipe(arguments);
  outlive_readers();
  take_checkpoint(arguments.config, arguments.checkpoint, "s2s-run generate");
  const std::string place =
      std::exchange(arguments.checkpoint, checkpoint_of(arguments.checkpoint));
  complete_config(arguments.config, arguments.checkpoint);
  const Run setup(arguments.config, RunPurpose::kGenerate, invocation, arguments.checkpoint);
  Console console(std::cerr, standard_error_is_terminal(), terminal_width());
  Log log(&console);
  setup.warnings().send_to([&log](const std::string& message) { log.warning(message); });
  if (place != arguments.checkpoint) log.info(fmt::format("loading {}", arguments.checkpoint));
  check_same_parts(arguments.checkpoint, setup.config());  // check before reading its tokenizer
  const std::unique_ptr<Tokenizer> tokenizer = setup.builder().tokenizer(arguments.checkpoint);
  const std::unique_ptr<Model> model = setup.builder().model(tokenizer.get(), arguments.checkpoint);
  load_model(arguments.checkpoint, *model);
  model->train(false);
  const std::string& type = setup.builder().settings().model.type;
  if (arguments.stream) require_capability<AnswersSpeech>(*model, type, kFrameByFrame);
  if (auto* const writer = find_capability<TextGenerator>(*model)) {
    const auto warn = [&log](const std::string& message) { log.warning(message); };
    if (writer->source_sample_rate_hz() > 0) {
      answer_conversations(arguments, {type, setup.config(), *writer, setup.registries(), warn});
    } else {
      answer_prompts(arguments, setup.config(), type, *writer);
    }
    return 0;
  }
  if (auto* const speaker = find_capability<SpeaksText>(*model)) {
    speak_prompts(arguments, type, *speaker, setup.builder().device());
    return 0;
  }
  if (auto* const teller = find_capability<SpeaksTurns>(*model)) {
    speak_turns(arguments, type, *teller);
    return 0;
  }
  auto& speech = require_capability<AnswersSpeech>(*model, type, "answer recordings");
  if (is_piped(arguments)) {
    return static_cast<int>(answer_pipe(arguments, type, speech, setup.builder().device(), log));
  }
  answer_recordings(arguments, type, speech, setup.builder().device(), log);
  return 0;
}

void add_sampling_options(const Command& command, SamplingOptions& sampling) {
  const Argument temperature =
      command
          .option("--temperature", sampling.temperature,
                  "sampling temperature; 0 (default): always take the most likely token")
          .not_negative();
  command.option("--top-k", sampling.top_k, "sample from the K most likely tokens; 0: from all")
      .whole_number()
      .needs(temperature);
  command
      .option(
          "--top-p", sampling.top_p,
          "nucleus sampling: sample from the smallest set of tokens with this total probability")
      .share()
      .needs(temperature);
  command.option("--seed", sampling.seed, "random seed; each recording starts from it")
      .whole_number()
      .needs(temperature);
  command
      .option("--repetition-penalty", sampling.repetition_penalty,
              "above 1: makes words already said less likely (text channel)")
      .positive();
}

void add_text_options(const Command& command, GenerateArguments& arguments) {
  TextGenerationOptions& text = arguments.text;
  command
      .option("--max-new-tokens", text.max_new_tokens,
              "longest answer to a prompt, in tokens, or in frames of speech (default: 128)")
      .positive();
  command.option("--stop", text.stop, "text that ends an answer; may be repeated").takes_one();
  command
      .option("--end-token", arguments.end_tokens,
              "token that ends an answer, beside the model's own; may be repeated")
      .takes_one();
  command
      .option("--num-beams", text.num_beams,
              "above 1: beam search with so many beams, without sampling")
      .positive();
  command.option("--length-penalty", text.length_penalty,
                 "beam search divides scores by length to this power (default: 1)");
  command.option("--batch-size", arguments.batch_size, "prompts answered together (default: 8)")
      .positive();
  command.option("--system-prompt", arguments.system_prompt,
                 "text of the system for conversations that have none");
  command
      .option("--normalizer", arguments.normalizer,
              "how texts are written alike before words are compared with a reference: english "
              "(default), basic or none")
      .one_of({"english", "basic", "none"});
}

}  // namespace

void setup_generate(const Command& program) {
  const Command command = program.command(
      "generate", "answer recordings, continue prompts, or speak them, with a trained model");
  GenerateArguments& arguments = command.runs(run_generate);
  add_checkpoint_arguments(command, arguments.config, arguments.checkpoint);
  command
      .option(
          "--input", arguments.inputs,
          "user recordings, or folders of recordings; for a model that reads text: files with "
          "a prompt per line (.jsonl: {\"prompt\"} or {\"messages\"}), and, if it takes audio, "
          "with "
          "recordings or conversations (cuts, NeMo's manifests); for a model that speaks turns: "
          "texts, or conversations of texts with audio; -: audio from standard input "
          "(with --stream)")
      .check(not_an_option, "recording");
  command
      .option("--prompt", arguments.prompts,
              "text to continue, or to speak; may be repeated; with recordings: what to do with "
              "them")
      .takes_one();
  command.flag("--chat", arguments.chat,
               "each prompt of --prompt, or line of a text file, is a user's message: the chat "
               "template writes it, and the end of the assistant's turn ends the answer");
  command.option("--output", arguments.output, "output folder for WAV files and answers.jsonl");
  command
      .option("--channel", arguments.channel,
              "channel of the recordings to use, from 0 (default: 0)")
      .whole_number();
  command.force(arguments.force);
  command.flag(
      "--stream", arguments.stream,
      "feed the audio in steps of 80 ms and answer frame by frame; with --input - the "
      "answer goes to standard output as it is made: WAV for WAV, raw samples for raw ones");
  command
      .option("--input-rate", arguments.input_rate_hz,
              "sample rate of raw samples from standard input (signed 16-bit little-endian, one "
              "channel); default: that of the model")
      .between(1000, 768000);
  command.json("print a JSON line per answer, or, with --input -, per piece of it");
  add_sampling_options(command, arguments.sampling);
  add_text_options(command, arguments);
}

}  // namespace s2s::run
