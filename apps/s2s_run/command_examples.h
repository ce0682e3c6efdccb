#pragma once
// A line or two at the end of each command's --help.

namespace CLI {
class App;
}

namespace s2s::run {

/// Gives every command below `app` that has examples their lines.
void add_examples(CLI::App& app);

}  // namespace s2s::run
