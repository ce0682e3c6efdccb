#include "jinja/expression_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "jinja/runtime.h"

namespace s2s::jinja {
namespace {

constexpr int64_t kMostNesting = 100;

ExpressionPtr constant(Value held) {
  auto node = std::make_unique<Constant>();
  node->held = std::move(held);
  return node;
}

ExpressionPtr binary(std::string sign, ExpressionPtr left, ExpressionPtr right) {
  auto node = std::make_unique<Binary>();
  node->sign = std::move(sign);
  node->left = std::move(left);
  node->right = std::move(right);
  return node;
}

ExpressionPtr unary_of(std::string sign, ExpressionPtr operand) {
  auto node = std::make_unique<Unary>();
  node->sign = std::move(sign);
  node->operand = std::move(operand);
  return node;
}

bool is_one_of(const Token& token, std::initializer_list<std::string_view> signs) {
  return token.kind == Token::kOperator &&
         std::find(signs.begin(), signs.end(), token.text) != signs.end();
}

}  // namespace

/// A chain becomes a tree as high as its length, which recursion walks; chains inside it add to
/// that.
void ExpressionParser::check_chain(int64_t links) {
  constexpr int64_t kMostLinks = 1000;
  if (links == 0) return;
  if (++num_links_ > kMostLinks) tokens_.unexpected("a shorter expression");
}

ExpressionPtr ExpressionParser::conditional() {
  if (depth_ == 0) num_links_ = 0;
  if (++depth_ > kMostNesting) tokens_.unexpected("an expression that is nested less deep");
  ExpressionPtr node = plain();
  for (int64_t links = 0; tokens_.skip_name("if");) {
    check_chain(++links);
    auto choice = std::make_unique<Conditional>();
    choice->then = std::move(node);
    choice->condition = plain();
    if (tokens_.skip_name("else")) choice->otherwise = conditional();
    node = std::move(choice);
  }
  --depth_;
  return node;
}

ExpressionPtr ExpressionParser::plain() {
  if (depth_ == 0) num_links_ = 0;
  ExpressionPtr node = conjunction();
  for (int64_t links = 0; tokens_.skip_name("or");) {
    check_chain(++links);
    node = binary("or", std::move(node), conjunction());
  }
  return node;
}

ExpressionPtr ExpressionParser::conjunction() {
  ExpressionPtr node = negation();
  for (int64_t links = 0; tokens_.skip_name("and");) {
    check_chain(++links);
    node = binary("and", std::move(node), negation());
  }
  return node;
}

ExpressionPtr ExpressionParser::negation() {
  bool is_odd = false, is_negated = false;
  while (tokens_.skip_name("not")) {
    is_negated = true;
    is_odd = !is_odd;
  }
  ExpressionPtr node = comparison();
  if (!is_negated) return node;
  node = unary_of("not", std::move(node));
  return is_odd ? std::move(node) : unary_of("not", std::move(node));
}

ExpressionPtr ExpressionParser::comparison() {
  ExpressionPtr first = sum();
  auto node = std::make_unique<Comparison>();
  for (;;) {
    std::string sign;
    if (is_one_of(tokens_.peek(), {"==", "!=", "<", "<=", ">", ">="})) {
      sign = tokens_.take().text;
    } else if (tokens_.skip_name("in")) {
      sign = "in";
    } else if (tokens_.is_name("not") && tokens_.peek(1).is_name("in")) {
      tokens_.take();
      tokens_.take();
      sign = "not in";
    } else {
      break;
    }
    node->others.emplace_back(std::move(sign), sum());
  }
  if (node->others.empty()) return first;
  node->first = std::move(first);
  return node;
}

ExpressionPtr ExpressionParser::sum() {
  ExpressionPtr node = concatenation();
  for (int64_t links = 0; is_one_of(tokens_.peek(), {"+", "-"});) {
    check_chain(++links);
    std::string sign = tokens_.take().text;
    node = binary(std::move(sign), std::move(node), concatenation());
  }
  return node;
}

ExpressionPtr ExpressionParser::concatenation() {
  ExpressionPtr node = product();
  for (int64_t links = 0; tokens_.skip_operator("~");) {
    check_chain(++links);
    node = binary("~", std::move(node), product());
  }
  return node;
}

ExpressionPtr ExpressionParser::product() {
  ExpressionPtr node = power();
  for (int64_t links = 0; is_one_of(tokens_.peek(), {"*", "/", "//", "%"});) {
    check_chain(++links);
    std::string sign = tokens_.take().text;
    node = binary(std::move(sign), std::move(node), power());
  }
  return node;
}

ExpressionPtr ExpressionParser::power() {
  ExpressionPtr node = unary();
  for (int64_t links = 0; tokens_.skip_operator("**");) {
    check_chain(++links);
    node = binary("**", std::move(node), unary());
  }
  return node;
}

ExpressionPtr ExpressionParser::unary(bool with_filters) {
  if (++depth_ > kMostNesting) tokens_.unexpected("an expression that is nested less deep");
  ExpressionPtr node;
  if (is_one_of(tokens_.peek(), {"-", "+"})) {
    std::string sign = tokens_.take().text;
    node = unary_of(std::move(sign), unary(false));
  } else {
    node = primary();
  }
  node = postfix(std::move(node));
  if (with_filters) node = filters(std::move(node));
  --depth_;
  return node;
}

ExpressionPtr ExpressionParser::primary() {
  const Token& token = tokens_.peek();
  if (token.kind == Token::kString) {
    std::string text;
    while (tokens_.peek().kind == Token::kString) text += tokens_.take().text;
    return constant(Value::of(std::move(text)));
  }
  if (token.kind == Token::kInteger || token.kind == Token::kFloat) return number();
  if (token.kind == Token::kName) {
    std::string name = tokens_.take().text;
    if (name == "true" || name == "True") return constant(Value::of(true));
    if (name == "false" || name == "False") return constant(Value::of(false));
    if (name == "none" || name == "None") return constant(Value::none());
    has_loop_ = has_loop_ || name == "loop";
    more_use_.first = more_use_.first || name == "varargs";
    more_use_.second = more_use_.second || name == "kwargs";
    auto node = std::make_unique<Name>();
    node->name = std::move(name);
    return node;
  }
  if (tokens_.skip_operator("(")) {
    ExpressionPtr node = tuple();
    tokens_.expect_operator(")");
    return node;
  }
  if (tokens_.is_operator("[")) return list_display();
  if (tokens_.is_operator("{")) return dict_display();
  tokens_.unexpected("a value");
}

ExpressionPtr ExpressionParser::number() {
  const Token token = tokens_.take();
  if (token.kind == Token::kFloat) {
    return constant(Value::of(std::strtod(token.text.c_str(), nullptr)));
  }
  int64_t number = 0;
  const char* end = token.text.data() + token.text.size();
  if (std::from_chars(token.text.data(), end, number).ec != std::errc()) {
    throw TemplateError("the number " + token.text + " is too large", token.line);
  }
  return constant(Value::of(number));
}

bool ExpressionParser::ends_tuple() const {
  const Token& next = tokens_.peek();
  return next.kind == Token::kVariableEnd || next.kind == Token::kBlockEnd ||
         is_one_of(next, {")", "="}) || next.is_name("in");
}

ExpressionPtr ExpressionParser::tuple(bool with_if) {
  auto items = std::make_unique<ListDisplay>();
  items->is_tuple = true;
  bool has_comma = false;
  while (!ends_tuple()) {
    items->items.push_back(with_if ? conditional() : plain());
    if (!tokens_.skip_operator(",")) break;
    has_comma = true;
  }
  if (has_comma || (items->items.empty() && tokens_.is_operator(")"))) return items;
  if (items->items.empty()) tokens_.unexpected("a value");
  return std::move(items->items.front());
}

ExpressionPtr ExpressionParser::list_display() {
  auto node = std::make_unique<ListDisplay>();
  tokens_.expect_operator("[");
  while (!tokens_.is_operator("]")) {
    node->items.push_back(conditional());
    if (!tokens_.skip_operator(",")) break;
  }
  tokens_.expect_operator("]");
  return node;
}

ExpressionPtr ExpressionParser::dict_display() {
  auto node = std::make_unique<DictDisplay>();
  tokens_.expect_operator("{");
  while (!tokens_.is_operator("}")) {
    ExpressionPtr key = conditional();
    tokens_.expect_operator(":");
    node->members.emplace_back(std::move(key), conditional());
    if (!tokens_.skip_operator(",")) break;
  }
  tokens_.expect_operator("}");
  return node;
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr node) {
  for (int64_t links = 0;; ++links) {
    check_chain(links);
    if (tokens_.is_operator("(")) {
      auto made = std::make_unique<Call>();
      made->function = std::move(node);
      made->arguments = arguments();
      node = std::move(made);
    } else if (tokens_.is_operator("[")) {
      node = subscript(std::move(node));
    } else if (tokens_.skip_operator(".")) {
      auto made = std::make_unique<Attribute>();
      made->object = std::move(node);
      const bool is_name = tokens_.peek().kind == Token::kName;
      if (!is_name && tokens_.peek().kind != Token::kInteger) tokens_.unexpected("a name");
      made->name = tokens_.take().text;
      node = std::move(made);
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr object) {
  tokens_.expect_operator("[");
  std::array<ExpressionPtr, 3> parts;
  size_t count = 0;
  for (; count < 3; ++count) {
    if (!tokens_.is_operator(":") && !tokens_.is_operator("]")) parts[count] = conditional();
    if (!tokens_.skip_operator(":")) break;
  }
  tokens_.expect_operator("]");
  if (count == 0) {
    if (!parts[0]) tokens_.unexpected("a subscript");
    auto node = std::make_unique<Item>();
    node->object = std::move(object);
    node->key = std::move(parts[0]);
    return node;
  }
  auto node = std::make_unique<Slice>();
  node->object = std::move(object);
  node->begin = std::move(parts[0]);
  node->end = std::move(parts[1]);
  node->step = std::move(parts[2]);
  return node;
}

CallArguments ExpressionParser::arguments() {
  CallArguments found;
  tokens_.expect_operator("(");
  while (!tokens_.is_operator(")")) {
    if (tokens_.skip_operator("**")) {
      found.named_rest = conditional();
    } else if (tokens_.skip_operator("*")) {
      found.rest = conditional();
    } else if (tokens_.peek().kind == Token::kName && tokens_.peek(1).is_operator("=")) {
      std::string name = tokens_.take().text;
      tokens_.take();
      found.named.emplace_back(std::move(name), conditional());
    } else {
      found.values.push_back(conditional());
    }
    if (!tokens_.skip_operator(",")) break;
  }
  tokens_.expect_operator(")");
  return found;
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr node) {
  for (int64_t links = 0;; ++links) {
    check_chain(links);
    if (tokens_.skip_operator("|")) {
      auto made = filter_head();
      made->input = std::move(node);
      node = std::move(made);
    } else if (tokens_.skip_name("is")) {
      node = test(std::move(node));
    } else if (tokens_.is_operator("(")) {
      node = postfix(std::move(node));
    } else {
      return node;
    }
  }
}

std::unique_ptr<Filter> ExpressionParser::filter_head() {
  auto node = std::make_unique<Filter>();
  const int64_t line = tokens_.peek().line;
  node->name = tokens_.expect_any_name();
  if (!has_filter(node->name)) throw TemplateError("no filter named '" + node->name + "'", line);
  if (tokens_.is_operator("(")) node->arguments = arguments();
  return node;
}

ExpressionPtr ExpressionParser::test(ExpressionPtr input) {
  auto node = std::make_unique<Test>();
  node->is_negated = tokens_.skip_name("not");
  node->input = std::move(input);
  const int64_t line = tokens_.peek().line;
  node->name = tokens_.expect_any_name();
  if (!has_test(node->name)) throw TemplateError("no test named '" + node->name + "'", line);
  const Token& next = tokens_.peek();
  const bool is_word = next.is_name("else") || next.is_name("or") || next.is_name("and") ||
                       next.is_name("is") || next.is_name("if") || next.is_name("in");
  const bool is_value = next.kind == Token::kString || next.kind == Token::kInteger ||
                        next.kind == Token::kFloat || is_one_of(next, {"[", "{"}) ||
                        (next.kind == Token::kName && !is_word);
  if (tokens_.is_operator("(")) {
    node->arguments = arguments();
  } else if (is_value) {
    node->arguments.values.push_back(postfix(primary()));
  }
  return node;
}

}  // namespace s2s::jinja
