#include "text/text_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/fnv.h"
#include "base/foreign_json.h"
#include "base/text.h"
#include "files/command_rules.h"
#include "s2s/data/text_source.h"
#include "s2s/foreign_text.h"
#include "text/text_batch.h"
#include "text/text_errors.h"
#include "text/text_paths.h"

namespace s2s::data {
namespace {

namespace fs = std::filesystem;

/// Maximum number of texts that a language model is trained on.
constexpr size_t kMaxTexts = 200000;
/// Number of lines that are encoded before the first batch.
constexpr int64_t kCheckedLines = 64;
/// Maximum number of lines in which the first label is searched for.
constexpr int64_t kSearchedLines = 4096;

const Tokenizer& tokenizer_of(const DataContext& context) {
  if (context.tokenizer == nullptr) throw text_errors::no_tokenizer(context.path);
  return *context.tokenizer;
}

std::vector<std::string> paths_of(const Config& path, const DataContext& context) {
  std::vector<std::string> paths;
  const std::vector<Config> one = {path};
  for (const Config& item : path.is_list() ? path.items() : one) {
    if (item.is_null()) continue;
    std::string file = item.as_string(context.path + ".path");
    if (!file.starts_with("pipe:")) file = (fs::path(context.base_dir) / file).lexically_normal();
    for (std::string& found : text_paths(file, context.path)) paths.push_back(std::move(found));
  }
  if (paths.empty()) throw text_errors::no_path(context.path);
  return paths;
}

/// Whether the model learns one of the first tokens.
bool has_labels(const TokenDocument& document, int64_t max_tokens) {
  const auto end = document.is_label.begin() + std::min(document.size(), max_tokens);
  return std::find(document.is_label.begin(), end, true) != end;
}

std::vector<std::string> roles_of(const TextLine& line) {
  std::vector<std::string> roles;
  if (line.form != TextLine::Form::kChat) return roles;
  for (const jinja::Value& message : line.messages.items()->items) {
    roles.push_back(message.dict()->find(std::string_view("role"))->text()->bytes());
  }
  return roles;
}

/// For example "train.jsonl:3+train.jsonl:8".
std::string row_id(const PlannedRow& row, const TextFiles& files) {
  std::string id;
  for (const PlannedDocument& document : row) {
    const LineOrigin origin = files.origin(document.line);
    const std::string name = fs::path(origin.file).filename().string();
    id += fmt::format("{}{}:{}", id.empty() ? "" : "+", name, origin.line);
  }
  return id;
}

}  // namespace

TextSource::TextSource(const TextSourceOptions& options, const DataContext& context)
    : options_(options),
      path_(context.path),
      warn_(context.warn),
      rank_(context.data_rank),
      num_ranks_(context.data_size),
      seed_(options.seed ? static_cast<uint64_t>(*options.seed) : context.seed),
      files_(paths_of(options.path, context), context.path + ".path"),
      encoder_(options.document, tokenizer_of(context), context.path, context.base_dir),
      order_(options, seed_, files_, encoder_, context.path,
             [this](int64_t line, const Error& error) { add_bad_line(line, error); }) {
  check_first_lines();
  check_labels();
  tell_unread_keys();
}

/// Checks the first lines before a run begins, because all lines often have the same mistake.
void TextSource::check_first_lines() {
  if (files_.size() == 0) throw text_errors::empty(path_);
  if (options_.skip_bad > 0) return;
  for (int64_t line = 0; line < std::min(files_.size(), kCheckedLines); ++line) {
    const std::string text = files_.line(line);
    if (!is_blank_line(text)) encoder_.encode(text, files_.origin(line));
  }
}

/// Warns of keys of other forms, which are not trained on.
void TextSource::tell_unread_keys() const {
  if (!warn_ || rank_ > 0) return;
  std::map<std::string, int64_t> num_lines;
  const int64_t most = std::min(files_.size(), kCheckedLines);
  for (int64_t line = 0; line < most; ++line) {
    const std::string text = files_.line(line);
    if (is_blank_line(text)) continue;
    for (const std::string& key : unread_keys(text, options_.document)) ++num_lines[key];
  }
  for (const auto& [key, count] : num_lines) {
    warn_(fmt::format("{}: '{}' is not read in {} of the first {} lines: the model does not see it",
                      path_, key, count, most));
  }
}

/// Refuses a set without labels, with which the loss would be 0 and nothing would be learned.
void TextSource::check_labels() {
  if (options_.document.labels != "response") return;
  int64_t num_documents = 0, num_with_labels = 0;
  const int64_t most = std::min(files_.size(), kSearchedLines);
  for (int64_t line = 0; line < most; ++line) {
    if (line >= kCheckedLines && num_with_labels > 0) break;
    const auto document = document_at(line);
    if (!document) continue;
    ++num_documents;
    if (has_labels(*document, options_.max_seq_len)) ++num_with_labels;
  }
  if (num_documents == 0) return;
  if (num_with_labels == 0) {
    throw text_errors::no_labels(path_, num_documents, why_no_labels(most));
  }
  const int64_t num_without = num_documents - num_with_labels;
  constexpr int64_t kLargeShare = 10;  // one in so many
  if (num_without * kLargeShare < num_documents || !warn_ || rank_ > 0) return;
  warn_(fmt::format("{}: {} of the first {} documents have no token that the model learns: {}",
                    path_, num_without, num_documents, why_no_labels(most)));
}

std::optional<TokenDocument> TextSource::document_at(int64_t line) const {
  const std::string text = files_.line(line);
  if (is_blank_line(text)) return std::nullopt;
  try {
    return encoder_.encode(text, files_.origin(line));
  } catch (const Error& error) {  // reported when the line is trained on
    if (error.exit_code() == ExitCode::kStopped) throw;
    return std::nullopt;
  }
}

/// Says what documents without labels have in common.
std::string TextSource::why_no_labels(int64_t num_lines) const {
  int64_t num_cut = 0, num_unlearned = 0;
  std::set<std::string> roles;
  for (int64_t line = 0; line < num_lines; ++line) {
    const auto document = document_at(line);
    if (!document || has_labels(*document, options_.max_seq_len)) continue;
    if (has_labels(*document, document->size())) {
      ++num_cut;
      continue;
    }
    const LineOrigin origin = files_.origin(line);
    const TextLine read =
        parse_text_line(files_.line(line), options_.document, origin.file, origin.line);
    bool has_assistant = false;
    for (const std::string& role : roles_of(read)) {
      has_assistant = has_assistant || role == "assistant";
      roles.insert(printable_name(role));
    }
    if (has_assistant) ++num_unlearned;
    if (line >= kCheckedLines) break;  // enough for a reason
  }
  if (num_cut > 0) {
    return fmt::format("in {} the response begins after max_seq_len ({} tokens)", num_cut,
                       options_.max_seq_len);
  }
  if (num_unlearned > 0) {
    return "what the assistant says has the weight 0, or the chat template does not write it";
  }
  return fmt::format("their roles are {}, and 'assistant' is not among them",
                     fmt::join(roles, ", "));
}

void TextSource::add_bad_line(int64_t line, const Error& error) {
  if (options_.skip_bad == 0) throw error;
  const bool is_new = bad_.emplace(line, error.what()).second;
  if (is_new && warn_ && rank_ == 0) {  // all ranks find all bad lines
    warn_(fmt::format("{}: skipped bad line {} of at most {}: {}", path_, bad_.size(),
                      options_.skip_bad, error.what()));
  }
  if (static_cast<int64_t>(bad_.size()) <= options_.skip_bad) return;
  throw text_errors::too_many_bad(path_, options_.skip_bad, left_out());
}

std::vector<std::string> TextSource::left_out() const {
  std::vector<std::string> lines;
  for (const auto& [line, reason] : bad_) lines.push_back(reason);
  return lines;
}

Batch TextSource::load(PlannedBatch& planned) const {
  std::vector<TokenRow> rows;
  for (PlannedRow& row : planned) {
    TokenRow made{{}, row_id(row, files_)};
    for (PlannedDocument& document : row) made.documents.push_back(order_.tokens(document));
    rows.push_back(std::move(made));
  }
  return make_text_batch(rows, encoder_.special_ids().pad);
}

/// Reads a batch for each data rank, so that the position is the same on all ranks.
std::optional<Batch> TextSource::next() {
  std::optional<PlannedBatch> own;
  for (int64_t rank = 0; rank < num_ranks_; ++rank) {
    std::optional<PlannedBatch> planned = order_.next();
    if (!planned) break;
    ++num_batches_;
    if (rank == rank_) own = std::move(planned);
  }
  if (!own) return std::nullopt;
  return load(*own);
}

std::string TextSource::order_fingerprint() const {
  const std::string order = options_.shuffle ? fmt::format("shuffled {}", seed_) : "in order";
  return fmt::format("{:016x}", fnv1a(order, files_.fingerprint()));
}

std::string TextSource::state() const {
  const DocumentCursor cursor = order_.cursor();
  const nlohmann::ordered_json json = {{"batches", num_batches_},
                                       {"epoch", cursor.epoch},
                                       {"document", cursor.place},
                                       {"order", order_fingerprint()}};
  return json.dump();
}

void TextSource::restore(const std::string& state) {
  DocumentCursor cursor;
  num_batches_ = 0;
  if (!state.empty()) {
    std::string order;
    try {
      const auto json = parse_foreign_json(state);
      num_batches_ = json.at("batches").get<int64_t>();
      cursor = {json.at("epoch").get<int64_t>(), json.at("document").get<int64_t>()};
      order = json.at("order").get<std::string>();
    } catch (const nlohmann::json::exception& error) {
      throw text_errors::bad_state(path_, state, error.what());
    }
    if (cursor.epoch < 0 || cursor.place < 0) {
      throw text_errors::bad_state(path_, state, "it is before the first document");
    }
    const bool is_same = order == order_fingerprint();
    if (!is_same && !options_.allow_changed_data) throw text_errors::changed_data(path_);
    if (!is_same) cursor.place = 0;
  }
  order_.go_to(cursor);
}

std::vector<std::string> TextSource::texts() {
  std::vector<std::string> texts;
  for (int64_t line = 0; line < files_.size() && texts.size() < kMaxTexts; ++line) {
    const std::string json = files_.line(line);
    if (is_blank_line(json)) continue;
    try {
      texts.push_back(encoder_.text_of(json, files_.origin(line)));
    } catch (const Error& error) {
      if (options_.skip_bad == 0 || error.exit_code() == ExitCode::kStopped) throw;
    }
  }
  return texts;
}

}  // namespace s2s::data

namespace s2s {

std::unique_ptr<DataSource> open_text_source(const Config& block, const DataContext& context) {
  data::TextSourceOptions options;
  Findings findings;
  OptionReader(block, context.path, findings, {"name"}).read(options);
  findings.throw_if_any();
  allow_typed_commands(block);
  return std::make_unique<data::TextSource>(options, context);
}

OptionTable list_text_source_options() { return list_options<data::TextSourceOptions>(); }

}  // namespace s2s
