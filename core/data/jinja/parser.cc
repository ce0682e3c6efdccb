#include "jinja/parser.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "jinja/expression_parser.h"
#include "jinja/token_reader.h"

namespace s2s::jinja {
namespace {

constexpr int64_t kMostBlocks = 100;

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(tokenize(source)) {}

  Program run() {
    Program program;
    program.body = body({});
    program.has_generation_blocks = has_generation_blocks_;
    return program;
  }

 private:
  using Ends = std::initializer_list<std::string_view>;

  /// Parses up to a tag with one of the names, which is not removed, or without names to the end of
  /// the template.
  Body body(Ends ends) {
    const int64_t begin = tokens_.peek().line;
    if (++depth_ > kMostBlocks) throw TemplateError("blocks are nested too deep", begin);
    Body found;
    for (;;) {
      const Token& next = tokens_.peek();
      if (next.kind == Token::kEnd) {
        if (ends.size() == 0) break;
        throw TemplateError("missing '{% " + std::string(*(ends.end() - 1)) + " %}' of a block",
                            begin);
      }
      if (next.kind == Token::kBlockBegin && is_end(tokens_.peek(1), ends)) break;
      found.push_back(statement());
    }
    --depth_;
    return found;
  }

  static bool is_end(const Token& token, Ends ends) {
    return std::any_of(ends.begin(), ends.end(),
                       [&](std::string_view name) { return token.is_name(name); });
  }

  /// Parses the body and its end tag.
  Body closed_body(std::string_view end) {
    tokens_.expect(Token::kBlockEnd);
    Body found = body({end});
    close(end);
    return found;
  }

  void close(std::string_view end) {
    tokens_.expect(Token::kBlockBegin);
    tokens_.expect_name(end);
    if (end == "endmacro" || end == "endcall") {
      if (tokens_.peek().kind == Token::kName) tokens_.take();
    }
    tokens_.expect(Token::kBlockEnd);
  }

  std::unique_ptr<const Statement> statement() {
    const Token first = tokens_.take();
    std::unique_ptr<Statement> made;
    if (first.kind == Token::kData) {
      auto node = std::make_unique<Data>();
      node->text = first.text;
      made = std::move(node);
    } else if (first.kind == Token::kVariableBegin) {
      auto node = std::make_unique<Output>();
      node->shown = expressions_.tuple();
      tokens_.expect(Token::kVariableEnd);
      made = std::move(node);
    } else {
      made = block();
    }
    made->line = first.line;
    made->column = first.column;
    return made;
  }

  std::unique_ptr<Statement> block() {
    const int64_t line = tokens_.peek().line;
    const std::string name = tokens_.expect_any_name();
    if (name == "if") return if_block();
    if (name == "for") return for_block();
    if (name == "set") return set_block();
    if (name == "macro") return macro_block();
    if (name == "call") return call_block();
    if (name == "filter") return filter_block();
    if (name == "with") return with_block();
    if (name == "generation") return generation_block();
    if (name == "break" || name == "continue") {
      if (loops_ == 0) throw TemplateError("'" + name + "' outside of a loop", line);
      auto node = std::make_unique<Leave>();
      node->flow = name == "break" ? Flow::kBreak : Flow::kContinue;
      tokens_.expect(Token::kBlockEnd);
      return node;
    }
    throw TemplateError("unknown tag '" + name + "'", line);
  }

  std::unique_ptr<Statement> if_block() {
    auto node = std::make_unique<If>();
    for (;;) {
      ExpressionPtr condition = expressions_.tuple();
      tokens_.expect(Token::kBlockEnd);
      node->branches.emplace_back(std::move(condition), body({"elif", "else", "endif"}));
      tokens_.expect(Token::kBlockBegin);
      if (!tokens_.skip_name("elif")) break;
    }
    if (tokens_.skip_name("else")) {
      tokens_.expect(Token::kBlockEnd);
      node->otherwise = body({"endif"});
      tokens_.expect(Token::kBlockBegin);
    }
    tokens_.expect_name("endif");
    tokens_.expect(Token::kBlockEnd);
    return node;
  }

  std::unique_ptr<Statement> for_block() {
    auto node = std::make_unique<For>();
    node->targets = targets();
    tokens_.expect_name("in");
    node->items = expressions_.tuple(/*with_if=*/false);
    if (tokens_.skip_name("if")) node->condition = expressions_.conditional();
    node->is_recursive = tokens_.skip_name("recursive");
    tokens_.expect(Token::kBlockEnd);
    ++loops_;
    // A use of `loop` in this body counts for the outer loops, too, which costs little.
    node->body = body({"else", "endfor"});
    node->uses_loop = uses_loop_ = expressions_.take_loop_use() || uses_loop_;
    --loops_;
    tokens_.expect(Token::kBlockBegin);
    if (tokens_.skip_name("else")) {
      tokens_.expect(Token::kBlockEnd);
      node->otherwise = body({"endfor"});
      tokens_.expect(Token::kBlockBegin);
    }
    tokens_.expect_name("endfor");
    tokens_.expect(Token::kBlockEnd);
    return node;
  }

  /// Parses `a`, `a, b` or `(a, b)`.
  std::vector<std::string> targets() {
    const bool in_brackets = tokens_.skip_operator("(");
    std::vector<std::string> names;
    do {
      names.push_back(tokens_.expect_any_name());
    } while (tokens_.skip_operator(","));
    if (in_brackets) tokens_.expect_operator(")");
    return names;
  }

  std::unique_ptr<Statement> set_block() {
    auto node = std::make_unique<Set>();
    node->targets = targets();
    if (node->targets.size() == 1 && tokens_.skip_operator(".")) {
      node->member = tokens_.expect_any_name();
    }
    if (tokens_.skip_operator("=")) {
      node->stored = expressions_.tuple();
      tokens_.expect(Token::kBlockEnd);
      return node;
    }
    while (tokens_.skip_operator("|")) node->filters.push_back(expressions_.filter_head());
    node->body = closed_body("endset");
    return node;
  }

  std::vector<Parameter> parameters() {
    std::vector<Parameter> found;
    tokens_.expect_operator("(");
    while (!tokens_.is_operator(")")) {
      Parameter parameter{tokens_.expect_any_name(), nullptr};
      if (tokens_.skip_operator("=")) parameter.otherwise = expressions_.conditional();
      found.push_back(std::move(parameter));
      if (!tokens_.skip_operator(",")) break;
    }
    tokens_.expect_operator(")");
    return found;
  }

  /// Parses a macro's body. A `break` in it cannot end a loop around the macro.
  Body function_body(std::string_view end) {
    const int64_t loops = std::exchange(loops_, 0);
    Body found = closed_body(end);
    loops_ = loops;
    return found;
  }

  std::unique_ptr<Statement> macro_block() {
    auto node = std::make_unique<Macro>();
    node->name = tokens_.expect_any_name();
    node->parameters = parameters();
    const auto outer = expressions_.exchange_more_use({});
    node->body = function_body("endmacro");
    std::tie(node->takes_more_values, node->takes_more_names) =
        expressions_.exchange_more_use(outer);
    return node;
  }

  std::unique_ptr<Statement> call_block() {
    auto node = std::make_unique<CallBlock>();
    if (tokens_.is_operator("(")) node->caller.parameters = parameters();
    node->caller.name = "caller";
    node->call = expressions_.plain();
    node->caller.body = function_body("endcall");
    return node;
  }

  std::unique_ptr<Statement> filter_block() {
    auto node = std::make_unique<FilterBlock>();
    do {
      node->filters.push_back(expressions_.filter_head());
    } while (tokens_.skip_operator("|"));
    node->body = closed_body("endfilter");
    return node;
  }

  std::unique_ptr<Statement> with_block() {
    auto node = std::make_unique<With>();
    while (tokens_.peek().kind == Token::kName) {
      std::string name = tokens_.take().text;
      tokens_.expect_operator("=");
      node->names.emplace_back(std::move(name), expressions_.conditional());
      if (!tokens_.skip_operator(",")) break;
    }
    node->body = closed_body("endwith");
    return node;
  }

  std::unique_ptr<Statement> generation_block() {
    has_generation_blocks_ = true;
    auto node = std::make_unique<Generation>();
    node->body = function_body("endgeneration");
    return node;
  }

  TokenReader tokens_;
  ExpressionParser expressions_{tokens_};
  int64_t depth_ = 0;
  int64_t loops_ = 0;
  bool uses_loop_ = false;  // an earlier loop reads `loop`
  bool has_generation_blocks_ = false;
};

}  // namespace

Program parse_template(std::string_view source) { return Parser(source).run(); }

}  // namespace s2s::jinja
