#include "config/yaml_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <unordered_set>

#include "base/byte_codec.h"
#include "base/parser_process.h"
#include "base/utf8_reader.h"
#include "config/config_bytes.h"
#include "config/config_errors.h"
#include "config/config_tree.h"
#include "config/scalar.h"

namespace s2s {

namespace {

/// The limit of values and keys; each takes 200 to 400 bytes. It counts copies by aliases and the
/// trees of anchors, because nested aliases multiply them.
constexpr int64_t kMaxNodes = 200'000;
/// The limit of memory: a copy of a long text is only one node.
constexpr size_t kMaxCopiedBytes = size_t{64} << 20;
/// The limit of text: the parser looks ahead over a whole line of quotes, with 46 bytes for each.
constexpr size_t kMaxTextBytes = size_t{4} << 20;
/// The limit of keys in one map: options are searched linearly.
constexpr size_t kMaxKeys = 10'000;

int64_t count_nodes(const Config& node) {
  int64_t count = 1;
  for (const Config& item : node.items()) count += count_nodes(item);
  for (const auto& [key, child] : node.entries()) count += count_nodes(child);
  return count;
}

/// Builds the tree from the parser's events.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(Origin base, bool has_lines)
      : base_(std::move(base)), has_lines_(has_lines) {}

  Config take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0)
      throw syntax_error(at(mark), "a second document starts; expected one document");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(Config(), mark, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      throw syntax_error(at(mark), "an alias occurs inside its own anchor");
    if (wants_key()) throw syntax_error(at(mark), "an alias cannot be a key");
    count_copy(found->second, mark);
    place(found->second, mark);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    if (!quoted) check_tag(mark, tag, {"?", "", "int", "float", "bool", "null"});
    if (wants_key()) return set_key(mark, value, quoted);
    add(Config::scalar(value, quoted), mark, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    check_tag(mark, tag, {"?", "!", "", "seq"});
    open(Config::list(), mark, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    check_tag(mark, tag, {"?", "!", "", "map"});
    open(Config::map(), mark, anchor);
  }
  void OnMapEnd() override {
    Frame& frame = stack_.back();
    for (const Config& source : frame.merged) merge(frame, source);
    frame.merged.clear();
    close();
  }

 private:
  struct Frame {
    Config node;
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    bool is_merge = false;  // the key is a plain `<<`
    std::string key;
    Origin key_origin;
    std::unordered_set<std::string> keys;  // of `node`, for fast lookup
    std::vector<Config> merged;
  };

  Origin at(const YAML::Mark& mark) const {
    Origin origin = base_;
    if (has_lines_) {
      origin.line = mark.line + 1;
      origin.column = mark.column + 1;
    }
    return origin;
  }

  bool wants_key() const {
    return !stack_.empty() && stack_.back().node.is_map() && !stack_.back().has_key;
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag,
                 const std::vector<std::string_view>& known) const {
    for (const std::string_view name : known) {
      if (tag == name || tag == "tag:yaml.org,2002:" + std::string(name)) return;
    }
    throw syntax_error(at(mark), "the tag '" + tag + "' is not supported; leave it out");
  }

  void count(int64_t nodes, const YAML::Mark& mark) {
    num_nodes_ += nodes;
    if (num_nodes_ > kMaxNodes) {
      throw syntax_error(at(mark),
                         "more than " + std::to_string(kMaxNodes) +
                             " values including aliases, which is too much for a configuration");
    }
  }

  void count_copy(const Config& node, const YAML::Mark& mark) {
    count(count_nodes(node), mark);
    count_bytes(num_bytes(node), mark);
  }

  void count_bytes(size_t bytes, const YAML::Mark& mark) {
    copied_bytes_ += bytes;
    if (copied_bytes_ > kMaxCopiedBytes) {
      throw syntax_error(at(mark), "aliases, anchors and merges bring in more than " +
                                       std::to_string(kMaxCopiedBytes >> 20) +
                                       " MiB, which is too much for a configuration");
    }
  }

  void set_key(const YAML::Mark& mark, const std::string& key, bool quoted) {
    Frame& frame = stack_.back();
    frame.is_merge = key == "<<" && !quoted;
    frame.has_key = true;
    frame.key = key;
    frame.key_origin = at(mark);
    if (frame.keys.size() > kMaxKeys) {
      throw syntax_error(at(mark), "more than " + std::to_string(kMaxKeys) +
                                       " keys in one map, which is too much for a configuration");
    }
    if (frame.is_merge || frame.keys.insert(key).second) return;
    throw duplicate_key_error(key, frame.node.find(key)->origin(), frame.key_origin);
  }

  void add(Config node, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (wants_key()) throw syntax_error(at(mark), "a key has to be plain text");
    count(1, mark);
    node.set_origin(origin_here(mark));
    if (anchor != 0) {
      count_bytes(num_bytes(node), mark);
      anchors_[anchor] = node;
    }
    place(std::move(node), mark);
  }

  /// The value of a map gets the origin of its key.
  Origin origin_here(const YAML::Mark& mark) const {
    const bool after_key = !stack_.empty() && stack_.back().has_key;
    return after_key ? stack_.back().key_origin : at(mark);
  }

  void open(Config node, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (wants_key()) throw syntax_error(at(mark), "a key has to be plain text");
    count(1, mark);
    node.set_origin(origin_here(mark));
    Frame frame;
    frame.node = std::move(node);
    frame.mark = mark;
    frame.anchor = anchor;
    stack_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    if (frame.anchor != 0) {
      count_copy(frame.node, frame.mark);
      anchors_[frame.anchor] = frame.node;
    }
    place(std::move(frame.node), frame.mark);
  }

  void place(Config node, const YAML::Mark& mark) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node.is_list()) {
      frame.node.items().push_back(std::move(node));
      return;
    }
    frame.has_key = false;
    if (frame.is_merge) return remember_merge(frame, std::move(node), mark);
    frame.node.entries().emplace_back(std::move(frame.key), std::move(node));
  }

  void remember_merge(Frame& frame, Config node, const YAML::Mark& mark) const {
    std::vector<Config> sources;
    if (node.is_list()) {
      sources = std::move(node.items());
    } else {
      sources.push_back(std::move(node));
    }
    for (Config& source : sources) {
      if (!source.is_map()) throw syntax_error(at(mark), "'<<' needs a map or a list of maps");
      frame.merged.push_back(std::move(source));
    }
  }

  void merge(Frame& target, const Config& source) {
    for (const auto& [key, child] : source.entries()) {
      if (!target.keys.insert(key).second) continue;
      count_bytes(key.size() + num_bytes(child), target.mark);
      target.node.entries().emplace_back(key, child);
    }
  }

  Origin base_;
  bool has_lines_;
  int documents_ = 0;
  int64_t num_nodes_ = 0;
  size_t copied_bytes_ = 0;
  Config root_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, Config> anchors_;
};

/// True if a line (from 0) starts with tabs, or has a tab before the parser's position.
bool has_tab(const std::string& text, int line) {
  size_t begin = 0;
  for (; line > 0 && begin != std::string::npos; --line)
    begin = text.find('\n', begin + (begin > 0));
  if (begin == std::string::npos) return false;
  if (begin > 0) ++begin;
  const size_t end = std::min(text.find_first_not_of(" \t", begin), text.size());
  return text.substr(begin, end - begin).find('\t') != std::string::npos;
}

/// The parser's message with the likely cause.
std::string with_hint(const std::string& words, bool is_tab) {
  if (is_tab) return words + "; the line begins with a tab: YAML takes spaces only";
  const bool in_flow = words == YAML::ErrorMsg::UNKNOWN_TOKEN ||
                       words == YAML::ErrorMsg::END_OF_MAP_FLOW ||
                       words == YAML::ErrorMsg::END_OF_SEQ_FLOW;
  return in_flow ? words +
                       "; inside { } and [ ], put a text with any of ? { } [ ] , in quotes, for "
                       "example \"???\" or \"${a.b}\""
                 : words;
}

/// The text must be UTF-8, because JSON, logs and other files are written from it.
void require_utf8(const std::string& text, Origin origin, bool has_lines) {
  const size_t valid = valid_utf8_bytes(text);
  if (valid == text.size()) return;
  if (has_lines) {
    const std::string_view before = std::string_view(text).substr(0, valid);
    const size_t line = before.rfind('\n') + 1;  // 0 without one
    origin.line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
    origin.column = static_cast<int>(valid - line) + 1;
  }
  throw syntax_error(origin, fmt::format("the byte 0x{:02x} is not UTF-8; save the text as UTF-8",
                                         static_cast<unsigned char>(text[valid])));
}

Config parse(const std::string& text, const Origin& base, bool has_lines) {
  if (text.size() > kMaxTextBytes) {
    throw syntax_error(base,
                       fmt::format("it has {} bytes, expected at most {}, which is enough for "
                                   "a configuration",
                                   text.size(), kMaxTextBytes));
  }
  require_utf8(text, base, has_lines);
  TreeBuilder builder(base, has_lines);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    const auto* const deep = dynamic_cast<const YAML::DeepRecursion*>(&error);
    Origin origin = base;
    if (has_lines && error.mark.line >= 0) {
      origin.line = error.mark.line + 1;
      origin.column = error.mark.column + 1;
    }
    if (deep != nullptr) {
      throw syntax_error(
          origin,
          fmt::format("blocks and lists are nested deeper than {} levels here", deep->depth()));
    }
    throw syntax_error(origin, with_hint(error.msg, has_tab(text, error.mark.line)));
  }
  return builder.take();
}

Config parse_file(const std::string& text, const std::string& source) {
  Origin base;
  base.source = source;
  return parse(text, base, true);
}

/// Runs in a parser process. The request: source and text.
std::string parse_to_bytes(std::string_view request, const std::vector<int>& /*files*/) {
  ByteReader reader(request);
  const std::string source(reader.text());
  return config_to_bytes(parse_file(std::string(reader.text()), source));
}

}  // namespace

Config parse_yaml(const std::string& text, const std::string& source) {
  if (!parses_apart()) return parse_file(text, source);
  ByteWriter request;
  request.text(source);
  request.text(text);
  return config_from_bytes(parse_apart(source, parse_to_bytes, request.take()), source);
}

Config parse_yaml_value(const std::string& text, const Origin& origin) {
  return parse(text, origin, false);
}

}  // namespace s2s
