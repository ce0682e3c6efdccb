// ${...}: OmegaConf's rules for what NeMo configs use of them.

#include "config/interpolation.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/utf8_reader.h"
#include "config/config_errors.h"
#include "config/config_tree.h"
#include "config/interpolation_text.h"
#include "config/load_config.h"
#include "config/scalar.h"
#include "config/secrets.h"

namespace s2s {

namespace {

using Path = std::vector<std::string>;

std::string dotted(const Path& path) { return joined(path, "."); }

/// The limit of all text that interpolations add. Nested references can multiply it: a text that
/// contains the one before it ten times, over ten levels, has gigabytes.
constexpr size_t kMaxAddedBytes = size_t{16} << 20;
/// The limit of nested interpolations and of chains of references.
constexpr size_t kMaxLevels = 64;

/// True when a default of a variable refers to something.
bool has_default_reference(const Config& node) {
  const std::string& text = node.text();
  const size_t variable = text.find(kReference);
  const size_t comma = variable == std::string::npos ? variable : text.find(',', variable);
  if (comma != std::string::npos && text.find("${", comma) != std::string::npos) return true;
  return std::any_of(node.items().begin(), node.items().end(), has_default_reference) ||
         std::any_of(node.entries().begin(), node.entries().end(),
                     [](const auto& entry) { return has_default_reference(entry.second); });
}

class Resolver {
 public:
  Resolver(Config& root, Findings* findings) : root_(root), findings_(findings) {
    if (!has_default_reference(root)) return;
    unneeded_root_ = root;
    unneeded_ = std::make_unique<Resolver>(unneeded_root_);
  }
  /// Throws at the first error. Does not resolve defaults that are not used.
  explicit Resolver(Config& root) : root_(root), findings_(nullptr) {}

  void resolve_tree(Config& node, Path& path) {
    if (node.is_scalar()) return resolve_or_note(node, path);
    for (size_t i = 0; i < node.items().size(); ++i) {
      path.push_back(std::to_string(i));
      resolve_tree(node.items()[i], path);
      path.pop_back();
    }
    for (auto& [key, child] : node.entries()) {
      path.push_back(key);
      resolve_tree(child, path);
      path.pop_back();
    }
  }

 private:
  /// With findings: a value that cannot be resolved keeps its text.
  void resolve_or_note(Config& node, const Path& path) {
    if (findings_ == nullptr) return resolve_scalar(node, path);
    if (added_bytes_ > kMaxAddedBytes) return;  // already reported
    try {
      resolve_scalar(node, path);
    } catch (const Error& error) {
      findings_->add(error);
      done_.insert(&node);
    }
  }

  void resolve_scalar(Config& node, const Path& path) {
    if (done_.contains(&node) || node.text().find("${") == std::string::npos) return;
    check_level(active_.size(), node, path);
    const Active active(*this, node, path);
    const auto pieces = split_interpolations(node.text());
    if (!pieces) throw interpolation_error(dotted(path), node, "'${' has no closing '}'");
    if (pieces->size() == 1 && pieces->front().is_interpolation) {
      Config value = evaluate(pieces->front().text, node, path);
      spend(num_bytes(value), node, path);
      replace(node, std::move(value));
      return;
    }
    const Resolved resolved = join_pieces(*pieces, node, path);
    Config value = Config::scalar(resolved.text, true);
    Origin origin = node.origin();
    if (resolved.has_variables) origin.via = kText + resolved.expression;
    value.set_origin(std::move(origin));
    node = std::move(value);
    done_.insert(&node);
  }

  void spend(size_t bytes, const Config& node, const Path& path) {
    added_bytes_ += bytes;
    if (added_bytes_ <= kMaxAddedBytes) return;
    throw interpolation_error(dotted(path), node,
                              "interpolations bring in more than " +
                                  std::to_string(kMaxAddedBytes >> 20) +
                                  " MiB, which is too much for a configuration");
  }

  void check_level(size_t level, const Config& node, const Path& path) const {
    if (level <= kMaxLevels) return;
    throw interpolation_error(dotted(path), node,
                              "it leads through more than " + std::to_string(kMaxLevels) +
                                  " other values; refer to the value directly");
  }

  /// The value takes the target's origin, with a note of the reference. A value of the environment
  /// keeps the variable in its note (environment_expression).
  void replace(Config& node, Config value) {
    Origin origin = value.origin().source.empty() ? node.origin() : value.origin();
    const std::string place = " at " + node.origin().text();
    if (!environment_expression(value)) {
      origin.via = value.origin().source.empty() ? "" : node.text() + place;
    } else if (origin.via.ends_with('}') && origin.via.starts_with(kReference)) {
      origin.via += place;
    }
    value.set_origin(std::move(origin));
    node = std::move(value);
    mark_done(node);
  }

  /// The value is already resolved; it must not be resolved again.
  void mark_done(const Config& node) {
    done_.insert(&node);
    for (const Config& item : node.items()) mark_done(item);
    for (const auto& [key, child] : node.entries()) mark_done(child);
  }

  Resolved join_pieces(const std::vector<Piece>& pieces, const Config& node, const Path& path) {
    Resolved all;
    for (const Piece& piece : pieces) {
      if (piece.is_interpolation) {
        all.add(evaluate_text(piece.text, node, path));
      } else {
        all.add_text(piece.text);
      }
      if (all.text.size() > kMaxAddedBytes) break;
    }
    spend(all.text.size(), node, path);
    return all;
  }

  Resolved evaluate_text(const std::string& expression, const Config& node, const Path& path) {
    const Config value = evaluate(expression, node, path);
    if (value.is_missing()) throw missing_value_error(expression, value);
    if (value.is_null()) return {"null", "null", false};
    if (!value.is_scalar()) {
      throw interpolation_error(
          dotted(path), node,
          "'" + expression + "' is " + config_value(value) + ", which cannot be part of a text");
    }
    const auto variables = environment_expression(value);
    return {value.text(), variables.value_or(escape_interpolation(value.text())),
            variables.has_value()};
  }

  Config evaluate(const std::string& expression, const Config& node, const Path& path) {
    const size_t colon = expression.find(':');
    if (colon != std::string::npos) {
      const std::string name = expression.substr(0, colon);
      if (name == "oc.env") return environment(expression.substr(colon + 1), node, path);
      throw interpolation_error(dotted(path), node,
                                "unknown resolver '" + name + "'; known: oc.env");
    }
    return lookup(target_path(expand(expression, node, path).text, node, path), node, path);
  }

  /// Inner interpolations are resolved first.
  Resolved expand(const std::string& expression, const Config& node, const Path& path) {
    if (expression.find("${") == std::string::npos) return {expression, expression, false};
    const Level inside(level_);
    check_level(level_, node, path);
    return join_pieces(split_interpolations(expression).value_or(std::vector<Piece>{}), node, path);
  }

  Config environment(const std::string& arguments, const Config& node, const Path& path) {
    const size_t comma = arguments.find(',');
    const std::string name = expand(arguments.substr(0, comma), node, path).text;
    const char* const found = std::getenv(name.c_str());
    std::optional<Resolved> fallback;
    if (comma != std::string::npos) {
      const size_t start = arguments.find_first_not_of(' ', comma + 1);
      const std::string text = start == std::string::npos ? "" : arguments.substr(start);
      fallback = found == nullptr ? expand(text, node, path) : unneeded_default(text, node, path);
    }
    // The default of a secret is a secret, too.
    const bool is_secret =
        is_secret_name(name) || std::any_of(path.begin(), path.end(), is_secret_name);
    Origin origin;
    origin.source = kEnvironment + name;
    origin.via = kReference + name;
    if (fallback && !is_secret) origin.via += "," + fallback->expression;
    origin.via += "}";
    Config value;
    if (found != nullptr) {
      if (valid_utf8_bytes(found) != std::string_view(found).size()) {
        throw interpolation_error(
            dotted(path), node,
            "the environment variable '" + name + "' is not UTF-8; set it to valid UTF-8");
      }
      value = *found == '\0' ? Config::scalar("", true) : Config::scalar(found);
    } else if (fallback) {
      value = Config::scalar(fallback->text);
    } else {
      throw interpolation_error(dotted(path), node,
                                "there is no environment variable '" + name +
                                    "'; set it, or write ${oc.env:" + name + ",DEFAULT}");
    }
    value.set_origin(std::move(origin));
    return value;
  }

  /// Resolves an unused default, which a stored configuration keeps for environments that lack the
  /// variable. Works on a copy and returns nothing on errors, because nothing reads the value.
  std::optional<Resolved> unneeded_default(const std::string& text, const Config& node,
                                           const Path& path) {
    if (text.find("${") == std::string::npos) return expand(text, node, path);
    if (unneeded_ == nullptr || unneeded_->added_bytes_ > kMaxAddedBytes) return std::nullopt;
    try {
      return unneeded_->expand(text, node, path);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  /// "a.b" or "a[0].b". Leading dots are relative to the map that contains the value.
  Path target_path(std::string expression, const Config& node, const Path& path) const {
    Path target;
    size_t dots = 0;
    while (dots < expression.size() && expression[dots] == '.') ++dots;
    if (dots > path.size()) {
      throw interpolation_error(dotted(path), node,
                                "the leading dots lead outside the configuration");
    }
    if (dots > 0) target.assign(path.begin(), path.end() - static_cast<std::ptrdiff_t>(dots));
    std::string step;
    for (const char c : expression.substr(dots) + ".") {
      if (c != '.' && c != '[' && c != ']') {
        step += c;
      } else if (!step.empty()) {
        target.push_back(std::exchange(step, ""));
      }
    }
    if (target.empty()) throw interpolation_error(dotted(path), node, "it is empty");
    return target;
  }

  Config lookup(const Path& target, const Config& node, const Path& path) {
    Config* found = &root_;
    Path walked;
    for (const std::string& step : target) {
      if (found->is_scalar()) resolve_or_note(*found, walked);
      Config* child = child_of(*found, step);
      if (child == nullptr) throw_no_target(target, *found, step, node, path);
      walked.push_back(step);
      found = child;
    }
    check_not_inside(target, node, path);
    resolve_tree(*found, walked);
    return *found;
  }

  static Config* child_of(Config& node, const std::string& step) {
    if (!node.is_list()) return node.find(step);
    const auto index = parse_int(step);
    const bool inside = index && *index >= 0 && *index < static_cast<int64_t>(node.items().size());
    return inside ? &node.items()[static_cast<size_t>(*index)] : nullptr;
  }

  /// A tree cannot be copied into itself.
  static void check_not_inside(const Path& target, const Config& node, const Path& path) {
    if (target.size() < path.size() && std::equal(target.begin(), target.end(), path.begin())) {
      throw interpolation_cycle_error({dotted(path), dotted(target), dotted(path)}, node);
    }
  }

  [[noreturn]] void throw_no_target(const Path& target, const Config& parent,
                                    const std::string& step, const Config& node, const Path& path) {
    std::vector<std::string> known;
    if (suggestions_left_ > 0) {  // each search compares all keys
      --suggestions_left_;
      for (const auto& [key, child] : parent.entries()) known.push_back(key);
    }
    const std::string nearest = nearest_name(step, known);
    throw interpolation_error(
        dotted(path), node,
        "there is no '" + dotted(target) + "' in the configuration" +
            (nearest.empty() ? "" : "; did you mean '" + nearest + "' instead of '" + step + "'?"));
  }

  /// The values that are being resolved, outermost first.
  struct Active {
    Active(Resolver& owner, const Config& node, const Path& path) : resolver(owner) {
      const std::string name = dotted(path);
      for (size_t i = 0; i < resolver.active_.size(); ++i) {
        if (resolver.active_[i] != name) continue;
        std::vector<std::string> cycle(resolver.active_.begin() + static_cast<std::ptrdiff_t>(i),
                                       resolver.active_.end());
        cycle.push_back(name);
        throw interpolation_cycle_error(cycle, node);
      }
      resolver.active_.push_back(name);
    }
    ~Active() { resolver.active_.pop_back(); }
    Active(const Active&) = delete;
    Active& operator=(const Active&) = delete;
    Resolver& resolver;
  };

  struct Level {
    explicit Level(size_t& level) : count(++level) {}
    ~Level() { --count; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    size_t& count;
  };

  Config& root_;
  Findings* findings_;
  std::vector<std::string> active_;
  size_t level_ = 0;  // nesting of interpolations
  size_t added_bytes_ = 0;
  int suggestions_left_ = 20;
  std::set<const Config*> done_;
  Config unneeded_root_;                // as it was before anything was resolved
  std::unique_ptr<Resolver> unneeded_;  // of unneeded_root_
};

}  // namespace

void resolve_interpolations(Config& config) {
  Resolver resolver(config, nullptr);
  Path path;
  resolver.resolve_tree(config, path);
}

void resolve_interpolations(Config& config, Findings& findings) {
  Resolver resolver(config, &findings);
  Path path;
  resolver.resolve_tree(config, path);
}

void resolve_interpolations_at(Config& config, const Path& path, Findings& findings) {
  Resolver resolver(config, &findings);
  Config* node = &config;
  Path walked;
  for (const std::string& step : path) {
    node = node->find(step);
    if (node == nullptr) return;
    walked.push_back(step);
  }
  resolver.resolve_tree(*node, walked);
}

bool is_unresolved(const Config& node) {
  return node.is_scalar() && node.text().find("${") != std::string::npos;
}

bool has_unresolved(const Config& node) {
  return is_unresolved(node) ||
         std::any_of(node.items().begin(), node.items().end(), has_unresolved) ||
         std::any_of(node.entries().begin(), node.entries().end(),
                     [](const auto& entry) { return has_unresolved(entry.second); });
}

std::set<std::string> interpolation_roots(const Config& config) {
  std::set<std::string> roots;
  const std::string& text = config.text();
  for (size_t at = text.find("${"); at != std::string::npos; at = text.find("${", at + 2)) {
    const size_t end = text.find_first_of(".[}:$", at + 2);
    if (end == std::string::npos || text[end] == ':' || text[end] == '$') continue;
    roots.insert(text.substr(at + 2, end - at - 2));
  }
  for (const Config& item : config.items()) roots.merge(interpolation_roots(item));
  for (const auto& [key, child] : config.entries()) roots.merge(interpolation_roots(child));
  return roots;
}

}  // namespace s2s
