#pragma once
// Keeps passwords and access tokens out of stored and shown configurations.

#include <string>
#include <string_view>
#include <vector>

#include "s2s/config.h"

namespace s2s {

/// True for the name of a key, option or variable that holds a secret. Such a name contains a
/// secret word (password, passwd, passphrase, pass, pwd, secret, credential, bearer, auth, jwt,
/// pat, sas), ends in "api key", "access token", "hf token" and the like, or is "token". Words end
/// at characters other than letters and digits, and before capitals (hfToken). Not secret:
/// `bos_token`, `num_tokens`, `tokenizer`, `sort_key`, `low_pass`, `path`, `author`.
bool is_secret_name(std::string_view name);

/// Remembers the secrets of a block named `name` that is about to be removed, because only
/// interpolations use it. Later they are found in all texts of this process. Thread-safe.
void remember_secrets(const Config& block, const std::string& name);

/// The form of a resolved configuration in files. Values of the environment become interpolations
/// again. These become `???`, which must be set where the file is used: values of secret keys,
/// texts that contain one, the values of variables with secret names, and addresses with passwords
/// (url_secrets.h). A reference to the environment loses its default if the key is secret or the
/// default is such an address. Resolved again, the result is equal except for the secrets.
Config stored_config(Config resolved);

/// The form of a resolved configuration on screen. Values of secret keys, texts that contain one,
/// and values of variables with secret names become ***. Addresses lose their passwords.
Config shown_config(Config resolved);

/// Removes the defaults of variables with secret names: `${oc.env:HF_TOKEN,DEFAULT}` becomes
/// `${oc.env:HF_TOKEN}`.
std::string without_secret_defaults(std::string text);

/// True for a value that comes from a variable with a secret name.
bool is_secret_value(const Config& node);

/// The form of a command line's word on screen and in files. `key=***` if the key is secret or the
/// value contains the value of a variable with a secret name. Secrets in maps and lists and
/// passwords of addresses become ***. Secret variables lose their defaults.
std::string shown_word(const std::string& word);
/// All words. Also masks the word after an option with a secret name (`--api-key WORD`), and words
/// that contain a secret of another word.
std::vector<std::string> shown_words(const std::vector<std::string>& words);

}  // namespace s2s
