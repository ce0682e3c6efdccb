#pragma once
// A tokenizer from a path on the command line.

#include <memory>
#include <optional>
#include <string>

#include "plugin/plugin_host.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s/registry.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

enum class TokenizerUse { kRead, kTrain };

/// The plugin that reads a kind of tokenizer file stays loaded as long as this lives.
class TokenizerFile {
 public:
  /// `path`: a tokenizer.json, a SentencePiece .model, or a folder with one.
  /// Errors: [tokenizer/unknown-format], those of the plugin.
  TokenizerFile(const Invocation& invocation, const std::string& path);
  /// `options` of the component `name`; `place` names them in messages.
  /// Errors: [tokenizer/cannot-train] when it is to make a file and has no such options.
  TokenizerFile(const Invocation& invocation, Config options, const std::string& name,
                const std::string& place, TokenizerUse use = TokenizerUse::kRead);
  const Tokenizer& operator*() const { return *tokenizer_; }
  const Tokenizer* operator->() const { return tokenizer_.get(); }

 private:
  PluginHost host_;
  Registries registries_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

/// The component that reads the tokenizer at `path`: `asked`, unless it is empty.
/// Errors: [tokenizer/unknown-format].
std::string tokenizer_component_for(const std::string& path, const std::string& asked = {});

}  // namespace s2s::run
