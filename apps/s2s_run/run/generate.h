#pragma once
// Parts of `generate`.

#include <string>
#include <vector>

#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/token_sampling.h"
#include "s2s_run/config/config_arguments.h"

namespace s2s::run {

struct GenerateArguments {
  ConfigArguments config;
  std::string checkpoint;
  std::vector<std::string> inputs;
  std::vector<std::string> prompts;
  std::string output;
  int64_t channel = 0;
  int64_t batch_size = 8;
  bool stream = false;
  bool chat = false;
  bool force = false;
  SamplingOptions sampling;
  TextGenerationOptions text;
};

/// Throws [usage/arguments]: what a model of `type` needs to answer.
[[noreturn]] void throw_no_input(const std::string& type, const std::string& needed);

/// Speaks the prompts of --prompt and of the files of --input. Writes a WAV file for each, and
/// answers.jsonl, to --output.
/// Errors: [usage/arguments], [data/prompt], [io/exists], [io/write], those of the voice.
void speak_prompts(const GenerateArguments& arguments, const Config& config,
                   const std::string& type, SpeaksText& model, at::Device device);

/// The texts of --prompt and of the files of --input, as they are.
/// Errors: [usage/arguments], [data/prompt].
std::vector<std::string> prompts_of(const GenerateArguments& arguments, const Config& config,
                                    const std::string& type, const Tokenizer& tokenizer);

/// Answers the prompts of --prompt and the prompts and chats of the files of --input. Prints each
/// answer, and writes answers.jsonl to --output if that is given. `config`: of the run; its
/// training data say how chats are written. `type`: of the model. Errors: [usage/arguments],
/// [data/prompt], [data/chat-messages], [data/chat-template], [io/exists].
void answer_prompts(const GenerateArguments& arguments, const Config& config,
                    const std::string& type, TextGenerator& model);

}  // namespace s2s::run
