#pragma once
// `data inspect` of files with texts, prompts and chats.

#include <string>
#include <vector>

#include "s2s_run/data/data_inspect_parts.h"

namespace s2s::run {

/// Whether the files are JSON lines of texts: the first object has keys of a text and none of a
/// cut or of a manifest.
bool are_texts(const std::vector<std::string>& files);

/// Reports documents, roles, lengths and labels, and lines that cannot be read: equal findings are
/// counted. With --batch N, the first N documents with their label marks. Returns the exit code: 1
/// when lines cannot be read. Errors: [usage/arguments] for --batch without --tokenizer, those of
/// the tokenizer and of opening the files.
int inspect_texts(const InspectArguments& arguments, const Invocation& invocation);

}  // namespace s2s::run
