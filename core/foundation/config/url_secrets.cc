#include "config/url_secrets.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "config/interpolation_text.h"
#include "config/secrets.h"

namespace s2s {
namespace {

constexpr std::string_view kUrlMask = "***";
constexpr std::string_view kEndsOfAddress = " \t\r\n\"'<>`";

struct SecretSpan {
  size_t begin = 0, end = 0;
};

bool is_variable_part(char c) {
  return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool consists_of(std::string_view text, bool (*is_one)(char)) {
  return std::all_of(text.begin(), text.end(), is_one);
}

/// The first of `ends` from `at` on, outside of ${...}; `limit` if there is none.
size_t first_end(const std::string& text, size_t at, size_t limit, std::string_view ends) {
  for (; at < limit; ++at) {
    if (text.compare(at, 2, "${") == 0) {
      const size_t close = closing_brace(text, at);
      if (close >= limit) return limit;
      at = close;
    } else if (ends.find(text[at]) != std::string_view::npos) {
      return at;
    }
  }
  return limit;
}

size_t last_at_sign(const std::string& text, size_t begin, size_t end) {
  size_t found = std::string::npos;
  for (size_t at = begin; (at = first_end(text, at, end, "@")) < end; ++at) found = at;
  return found;
}

/// True if the text is empty, the mask, or only references and variables.
bool is_harmless(const std::string& text) {
  if (text.empty() || text == kUrlMask) return true;
  if (text.front() != '$') return false;
  size_t at = 0;
  while (text.compare(at, 2, "${") == 0) {
    const size_t close = closing_brace(text, at);
    if (close == std::string::npos) return false;
    at = close + 1;
  }
  return at == text.size() ||
         (at == 0 && consists_of(std::string_view(text).substr(1), is_variable_part));
}

bool is_port(std::string_view text) {
  return consists_of(text, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

/// True if http or https precedes "://".
bool is_web(const std::string& text, size_t colon) {
  std::string scheme;
  for (size_t at = colon; at > 0 && is_variable_part(text[at - 1]); --at) {
    scheme += static_cast<char>(std::tolower(static_cast<unsigned char>(text[at - 1])));
  }
  return scheme == "ptth" || scheme == "sptth";
}

bool is_secret_field(std::string name) {
  if (is_secret_name(name)) return true;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name == "sig" || name.ends_with("signature");
}

/// The secrets of the address whose "://" is at `colon`.
class SecretAddress {
 public:
  SecretAddress(const std::string& text, size_t colon) : text_(text), begin_(colon + 3) {
    end_ = first_end(text, begin_, text.size(), kEndsOfAddress);
    add_user(is_web(text, colon));
    add_query();
  }
  const std::vector<SecretSpan>& secrets() const { return secrets_; }

 private:
  void add(size_t begin, size_t end) {
    if (!is_harmless(text_.substr(begin, end - begin))) secrets_.push_back({begin, end});
  }

  void add_user(bool is_web_address) {
    const size_t end = first_end(text_, begin_, end_, "/?#\\");
    size_t sign = last_at_sign(text_, begin_, end);
    const size_t colon = first_end(text_, begin_, sign == std::string::npos ? end : sign, ":");
    if (sign == std::string::npos) {
      // A password with a slash in it, which is no port: https://user:pass/word@host.
      const bool has_port = colon == end || text_[begin_] == '[' ||
                            is_port(std::string_view(text_).substr(colon + 1, end - colon - 1));
      if (!has_port) sign = last_at_sign(text_, end, end_);
      if (sign == std::string::npos) return;
    }
    if (colon < sign && text_[colon] == ':') return add(colon + 1, sign);
    if (is_web_address && text_.substr(begin_, sign - begin_) != "git") add(begin_, sign);
  }

  void add_query() {
    size_t at = first_end(text_, begin_, end_, "?");
    while (at < end_) {
      const size_t end = first_end(text_, at + 1, end_, "&;#");
      const size_t equals = first_end(text_, at + 1, end, "=");
      if (equals < end && is_secret_field(text_.substr(at + 1, equals - at - 1))) {
        add(equals + 1, end);
      }
      at = end;
    }
  }

  const std::string& text_;
  size_t begin_, end_ = 0;
  std::vector<SecretSpan> secrets_;
};

std::vector<SecretSpan> url_secrets(const std::string& text) {
  std::vector<SecretSpan> all;
  size_t done = 0;
  for (size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at + 3)) {
    const SecretAddress address(text, at);
    for (const SecretSpan& span : address.secrets()) {
      if (span.begin < done) continue;  // an address in the query of another
      all.push_back(span);
      done = span.end;
    }
  }
  return all;
}

}  // namespace

bool has_url_secret(std::string_view text) {
  return text.find("://") != std::string_view::npos && !url_secrets(std::string(text)).empty();
}

std::string without_url_secrets(std::string text) {
  const std::vector<SecretSpan> spans = url_secrets(text);
  for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
    text.replace(span->begin, span->end - span->begin, kUrlMask);
  }
  return text;
}

}  // namespace s2s
