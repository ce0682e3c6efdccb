#include "hf_tokenizer.h"

#include <algorithm>
#include <utility>

#include "unicode.h"

namespace s2s::hf {
namespace {

/// Checks the members that no other code reads, and returns `root`.
const JsonLocation& checked(const JsonLocation& root) {
  root.expect_only({"version", "truncation", "padding", "added_tokens", "normalizer",
                    "pre_tokenizer", "post_processor", "decoder", "model"});
  const JsonLocation version = root["version"];
  if (!version.is_null() && version.text() != "1.0") version.refuse("'1.0'");
  check_post_processor(root["post_processor"]);
  return root;
}

Alphabet alphabet_of(const PreTokenizer& pre_tokenizer) {
  return pre_tokenizer.ends_in_bytes() ? Alphabet::kBytes : Alphabet::kCharacters;
}

}  // namespace

/// A workspace for one call. Calls from different threads use different ones.
class HfTokenizer::Lease {
 public:
  explicit Lease(const HfTokenizer& owner) : owner_(owner) {
    const std::lock_guard<std::mutex> lock(owner.mutex_);
    if (!owner.idle_.empty()) {
      work_ = std::move(owner.idle_.back());
      owner.idle_.pop_back();
    } else {
      work_ = std::make_unique<Workspace>();
    }
  }
  ~Lease() {
    const std::lock_guard<std::mutex> lock(owner_.mutex_);
    owner_.idle_.push_back(std::move(work_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Workspace& operator*() const { return *work_; }

 private:
  const HfTokenizer& owner_;
  std::unique_ptr<Workspace> work_;
};

HfTokenizer::Parts::Parts(const JsonLocation& root)
    : normalizer(checked(root)["normalizer"]),
      pre_tokenizer(root["pre_tokenizer"]),
      vocabulary(Bpe(root["model"], alphabet_of(pre_tokenizer)), root["added_tokens"], normalizer),
      decoder(root["decoder"]) {}

HfTokenizer::HfTokenizer(const HfOptions& options, const std::string& path,
                         const std::string& place)
    : files_(find_files(path, place)) {
  nlohmann::json json = read_json(files_.tokenizer, place);
  add_special_tokens(json, options.additional_special_tokens);
  const JsonLocation root(json, files_.tokenizer);
  parts_ = std::make_unique<Parts>(root);
  const Vocabulary& vocabulary = parts_->vocabulary;
  const auto find = find_special_ids(options, files_, root["post_processor"], vocabulary, place);
  special_ = FoundSpecialIds(options, find, vocabulary.num_ids(), place, "the tokenizer");
}

HfTokenizer::~HfTokenizer() = default;

std::vector<int64_t> HfTokenizer::encode(std::string_view text) const {
  require_short_text(text);
  const std::string repaired = is_valid_utf8(text) ? std::string() : valid_utf8(text);
  if (!repaired.empty()) text = repaired;
  std::vector<int64_t> ids;
  ids.reserve(text.size() / 3 + 1);
  const Lease lease(*this);
  Workspace& work = *lease;
  work.match.begin(text.size());
  parts_->vocabulary.raw_finder().split(text, work.raw_spans);
  for (const TokenSpan& span : work.raw_spans) {
    if (span.id >= 0) {
      ids.push_back(span.id);
    } else {
      const size_t num_first = span.begin == 0 ? code_point_at(text, 0).size : 0;
      encode_between(text.substr(span.begin, span.end - span.begin), num_first, work, ids);
    }
  }
  return ids;
}

/// Encodes the text between two added tokens that are matched before normalization.
void HfTokenizer::encode_between(std::string_view text, size_t num_first_bytes, Workspace& work,
                                 std::vector<int64_t>& ids) const {
  const TokenFinder& finder = parts_->vocabulary.normalized_finder();
  if (parts_->normalizer.changes_nothing() && finder.empty()) {
    return encode_plain(text, num_first_bytes, work, ids);
  }
  NormalizedText normal{std::string(text), num_first_bytes};
  parts_->normalizer.apply(normal, work.match);
  finder.split(normal.text, work.normalized_spans);
  for (const TokenSpan& span : work.normalized_spans) {
    if (span.id >= 0) {
      ids.push_back(span.id);
    } else {
      encode_plain(std::string_view(normal.text).substr(span.begin, span.end - span.begin),
                   normal.num_first_bytes - std::min(span.begin, normal.num_first_bytes), work,
                   ids);
    }
  }
}

/// Encodes text that is normalized and contains no added token.
void HfTokenizer::encode_plain(std::string_view text, size_t num_first_bytes, Workspace& work,
                               std::vector<int64_t>& ids) const {
  Pieces& pieces = work.pieces;
  pieces.text.assign(text);
  pieces.spans.assign(1, Span{0, text.size(), false});
  pieces.num_first_bytes = num_first_bytes;
  parts_->pre_tokenizer.apply(pieces, work.match);
  for (const Span& span : pieces.spans) {
    parts_->vocabulary.bpe().encode(pieces.piece(span), work.bpe, ids);
  }
}

std::string HfTokenizer::decode(const std::vector<int64_t>& ids) const {
  const Vocabulary& vocabulary = parts_->vocabulary;
  std::vector<std::string> pieces;
  pieces.reserve(ids.size());
  for (const int64_t id : ids) {
    // The unknown token has a text, also where it is the PAD of a file without PAD.
    const bool is_unknown = vocabulary.bpe().unknown() == id;
    const bool skipped = vocabulary.is_special(id) || (special_.contains(id) && !is_unknown);
    const std::string* piece = skipped ? nullptr : vocabulary.decoded(id);
    if (piece) pieces.push_back(*piece);
  }
  const Lease lease(*this);
  return parts_->decoder.decode(std::move(pieces), (*lease).match);
}

std::string HfTokenizer::piece(int64_t id) const {
  const std::string* known = parts_->vocabulary.piece(id);
  return known ? *known : "<" + std::to_string(id) + ">";
}

}  // namespace s2s::hf
