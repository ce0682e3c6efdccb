#pragma once
// A tokenizer that is given as a path on the command line.

#include <memory>
#include <optional>
#include <string>

#include "plugin/plugin_host.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s/registry.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

enum class TokenizerUse { kRead, kTrain };

/// Owns a tokenizer and keeps its plugin loaded.
class TokenizerFile {
 public:
  /// `path`: a tokenizer.json, a SentencePiece .model, or a folder with one.
  /// Errors: [tokenizer/unknown-format], those of the plugin.
  TokenizerFile(const Invocation& invocation, const std::string& path);
  /// `options` of the component `name`; `place` names them in messages.
  /// Errors: [tokenizer/cannot-train] when it should train and has no option for it.
  TokenizerFile(const Invocation& invocation, Config options, const std::string& name,
                const std::string& place, TokenizerUse use = TokenizerUse::kRead);
  const Tokenizer& operator*() const { return *tokenizer_; }
  const Tokenizer* operator->() const { return tokenizer_.get(); }

 private:
  PluginHost host_;
  Registries registries_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

/// The component that reads the tokenizer at `path`: `asked` if it is set, else determined from the
/// files.
/// Errors: [tokenizer/unknown-format].
std::string tokenizer_component_for(const std::string& path, const std::string& asked = {});

}  // namespace s2s::run
