#include "s2s_run/command_line.h"

#include <CLI/CLI.hpp>
#include <cctype>
#include <cmath>
#include <optional>

#include "base/number_text.h"
#include "s2s_run/command_examples.h"

namespace s2s::run {
namespace {

CLI::Validator number_check(const std::string& expected, bool (*accept)(double)) {
  const auto check = [expected, accept](std::string& text) -> std::string {
    const auto value = read_number<double>(text);
    if (value && accept(*value)) return {};
    return "'" + text + "'; expected " + expected;
  };
  return {check, "", "number"};
}

/// Replaces `text` by the number of bytes. Returns the problem, or "".
std::string to_bytes(std::string& text) {
  std::string bytes = text;
  bool is_size = !text.empty() && text[0] >= '0' && text[0] <= '9' &&
                 std::isalpha(static_cast<unsigned char>(text.back())) != 0;
  try {
    is_size = is_size && CLI::AsSizeValue(/*kb_is_1000=*/true)(bytes).empty();
  } catch (const CLI::ValidationError&) {
    is_size = false;
  }
  if (!is_size) return "'" + text + "'; expected a size with a unit, for example 80GB or 80GiB";
  text = bytes;
  return {};
}

/// The words that name a command ("data synth"); "" for the program itself.
std::string words_of(const CLI::App& app) {
  const CLI::App* const above = app.get_parent();
  if (above == nullptr) return "";
  const std::string words = words_of(*above);
  return words + (words.empty() ? "" : " ") + app.get_name();
}

}  // namespace

Argument Argument::required() const { return option_->required(); }
Argument Argument::shows_default() const { return option_->capture_default_str(); }
Argument Argument::separated_by(char delimiter) const { return option_->delimiter(delimiter); }
Argument Argument::takes_one() const { return option_->allow_extra_args(false); }

Argument Argument::positive() const {
  return option_->check(number_check("a number above 0", [](double value) { return value > 0; }));
}
Argument Argument::not_negative() const {
  return option_->check(
      number_check("a number of at least 0", [](double value) { return value >= 0; }));
}
Argument Argument::says_not_negative() const { return option_->check(CLI::NonNegativeNumber); }
Argument Argument::share() const {
  return option_->check(number_check("a number above 0 and at most 1",
                                     [](double value) { return value > 0 && value <= 1; }));
}
Argument Argument::whole_number() const {
  return option_->check(number_check("a whole number of at least 0", [](double value) {
    return value >= 0 && value == std::floor(value) && value <= 9007199254740992.0;  // 2^53
  }));
}
Argument Argument::between(int least, int most) const {
  return option_->check(CLI::Range(least, most));
}
Argument Argument::one_of(const std::vector<std::string>& values) const {
  return option_->check(CLI::IsMember(values));
}
Argument Argument::size_in_bytes(bool kb_is_1000) const {
  return option_->transform(CLI::AsSizeValue(kb_is_1000));
}
Argument Argument::size_with_unit() const {
  return option_->transform(CLI::Validator(to_bytes, "", "size"));
}
Argument Argument::check(std::string (*problem)(const std::string& value),
                         const std::string& expected) const {
  return option_->check(problem, expected);
}

Argument Argument::needs(const Argument& other) const { return option_->needs(other.option_); }
Argument Argument::excludes(const Argument& other) const {
  return option_->excludes(other.option_);
}
bool Argument::is_given() const { return option_->count() > 0; }

Command Command::command(const std::string& name, const std::string& description) const {
  CLI::App* const made = app_->add_subcommand(name, description);
  made->footer(example_footer(words_of(*made)));
  return {made, invocation_};
}

Command Command::group(const std::string& name, const std::string& description) const {
  const Command made = command(name, description);
  made.app_->require_subcommand(1);
  return made;
}

Command Command::hidden() const {
  app_->group("");
  return *this;
}

template <class Value>
Argument Command::option(const std::string& names, Value& value,
                         const std::string& description) const {
  return app_->add_option(names, value, description);
}

Argument Command::flag(const std::string& names, bool& value,
                       const std::string& description) const {
  return app_->add_flag(names, value, description);
}

Argument Command::flag(const std::string& names, void (*action)(),
                       const std::string& description) const {
  return app_->add_flag_callback(names, action, description);
}

void Command::runs(std::function<int()> run) const {
  app_->callback([run = std::move(run), invocation = invocation_] { invocation->selected = run; });
}

using Names = const std::string&;  // also the type of descriptions
template Argument Command::option(Names, std::string&, Names) const;
template Argument Command::option(Names, int&, Names) const;
template Argument Command::option(Names, int64_t&, Names) const;
template Argument Command::option(Names, uint64_t&, Names) const;
template Argument Command::option(Names, double&, Names) const;
template Argument Command::option(Names, std::optional<int64_t>&, Names) const;
template Argument Command::option(Names, std::optional<double>&, Names) const;
template Argument Command::option(Names, std::vector<std::string>&, Names) const;
template Argument Command::option(Names, std::vector<double>&, Names) const;
template Argument Command::option(Names, std::vector<uint64_t>&, Names) const;

}  // namespace s2s::run
