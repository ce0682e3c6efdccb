#pragma once
// Secrets in addresses: https://user:password@host, https://token@host, https://host/?sig=...

#include <string>
#include <string_view>

namespace s2s {

/// True for a text with an address that holds a secret: the password in front of @, with http(s)
/// also a user without password (a token; but not `git`), and the value of a query's field with a
/// secret name or a name that ends in `sig` or `signature`. References (`${oc.env:NAME}`) and
/// variables of a shell (`$NAME`) are none.
bool has_url_secret(std::string_view text);

/// `text` with *** in place of these secrets: https://user:***@host.
std::string without_url_secrets(std::string text);

}  // namespace s2s
