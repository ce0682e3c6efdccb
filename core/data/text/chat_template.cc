#include "text/chat_template.h"

#include <optional>

#include "base/byte_codec.h"
#include "jinja/value_bytes.h"

namespace s2s::data {
namespace {

/// A request to a parser process.
enum class Request : int64_t { kParse, kRender };
/// The first number of its answer.
enum class Outcome : int64_t { kDone, kError, kRaised };

std::string failure(const jinja::TemplateError& error) {
  ByteWriter bytes;
  bytes.number(static_cast<int64_t>(error.is_raised() ? Outcome::kRaised : Outcome::kError));
  bytes.number(error.line());
  bytes.number(error.column());
  bytes.text(error.what());
  return bytes.take();
}

std::string rendered(const jinja::Template& parsed, ByteReader& request) {
  ChatTemplate::Variables variables;
  for (size_t left = request.count(); left > 0; --left) {
    std::string name(request.text());
    variables.emplace_back(std::move(name), jinja::read_value(request));
  }
  ByteWriter bytes;
  bytes.number(static_cast<int64_t>(Outcome::kDone));
  jinja::write_text(parsed.render(variables), bytes);
  return bytes.take();
}

/// Runs in a parser process, which has one template.
std::string answer(std::string_view bytes, const std::vector<int>& /*files*/) {
  static std::optional<jinja::Template> parsed;
  ByteReader request(bytes);
  try {
    if (static_cast<Request>(request.number()) == Request::kRender) {
      return rendered(*parsed, request);
    }
    parsed.emplace(request.text());
    ByteWriter to;
    to.number(static_cast<int64_t>(Outcome::kDone));
    to.number(parsed->has_generation_blocks() ? 1 : 0);
    return to.take();
  } catch (const jinja::TemplateError& error) {
    return failure(error);
  }
}

std::string parse_request(const std::string& text) {
  ByteWriter request;
  request.number(static_cast<int64_t>(Request::kParse));
  request.text(text);
  return request.take();
}

/// Throws the error that the answer contains.
void require_done(ByteReader& from) {
  const auto outcome =
      static_cast<Outcome>(from.number_up_to(static_cast<int64_t>(Outcome::kRaised)));
  if (outcome == Outcome::kDone) return;
  const int64_t line = from.number();
  const int64_t column = from.number();
  const std::string reason(from.text());
  if (outcome == Outcome::kRaised) throw jinja::TemplateError::raised(reason).at(line, column);
  throw jinja::TemplateError(reason, line, column);
}

}  // namespace

ChatTemplate::ChatTemplate(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)) {
  if (parses_apart()) {
    idle_ = std::make_unique<Idle>();
    auto process = std::make_unique<ParserProcess>(name_, answer);
    const std::string bytes = process->answer(parse_request(text_));
    ByteReader from(bytes);
    require_done(from);
    has_generation_blocks_ = from.flag();
    give_back(std::move(process));
    return;
  }
  here_ = std::make_unique<jinja::Template>(text_);
  has_generation_blocks_ = here_->has_generation_blocks();
}

std::unique_ptr<ParserProcess> ChatTemplate::take() const {
  {
    const std::lock_guard lock(idle_->mutex);
    if (!idle_->processes.empty()) {
      auto process = std::move(idle_->processes.back());
      idle_->processes.pop_back();
      return process;
    }
  }
  auto process = std::make_unique<ParserProcess>(name_, answer);
  process->answer(parse_request(text_));
  return process;
}

void ChatTemplate::give_back(std::unique_ptr<ParserProcess> process) const {
  if (process->is_over()) return;
  const std::lock_guard lock(idle_->mutex);
  idle_->processes.push_back(std::move(process));
}

jinja::MarkedText ChatTemplate::render(const Variables& variables) const {
  if (here_ != nullptr) return here_->render(variables);
  ByteWriter request;
  request.number(static_cast<int64_t>(Request::kRender));
  request.number(static_cast<int64_t>(variables.size()));
  for (const auto& [name, value] : variables) {
    request.text(name);
    jinja::write_value(value, request);
  }
  auto process = take();
  const std::string bytes = process->answer(request.take());
  give_back(std::move(process));
  ByteReader from(bytes);
  require_done(from);
  return jinja::read_text(from);
}

}  // namespace s2s::data
