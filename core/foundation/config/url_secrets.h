#pragma once
// Secrets in addresses: https://user:password@host, https://token@host, https://host/?sig=...

#include <string>
#include <string_view>

namespace s2s {

/// True for a text with an address that contains a secret: a password before the @, with http(s)
/// also a user without a password (a token; not `git`), or a query field with a secret name or a
/// name that ends in `sig` or `signature`. References (`${oc.env:NAME}`) and shell variables
/// (`$NAME`) are not secret.
bool has_url_secret(std::string_view text);

/// Replaces these secrets by ***: https://user:***@host.
std::string without_url_secrets(std::string text);

}  // namespace s2s
