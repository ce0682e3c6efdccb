#pragma once
// The languages that Whisper's vocabularies have tokens for.

#include <string>

namespace s2s::whisper {

/// The code of a language ("de") by its English name ("german") or a code, in any case. Empty:
/// Whisper has no such language. Source: transformers tokenization_whisper.TO_LANGUAGE_CODE.
std::string language_code(const std::string& name);

}  // namespace s2s::whisper
