#pragma once
// What of a configuration may be written down and shown: passwords and access tokens may not.

#include <string>
#include <string_view>
#include <vector>

#include "s2s/config.h"

namespace s2s {

/// True for the name of a key, an option or a variable that holds a secret: with a word for one
/// (password, passwd, passphrase, pass, pwd, secret, credential, bearer, auth, jwt, pat, sas),
/// ending in "api key", "access token", "hf token" and the like, or "token" alone. A name's words
/// end at what is no letter or digit and where capitals begin (hfToken). `bos_token`, `num_tokens`,
/// `tokenizer`, `sort_key`, `low_pass`, `path` and `author` are none.
bool is_secret_name(std::string_view name);

/// Notes the secrets of a block that a configuration loses because only interpolations use it, and
/// whose key is `name`. From then on, they are found in all texts of this process, as if the block
/// was still there. Thread-safe.
void remember_secrets(const Config& block, const std::string& name);

/// A resolved configuration as it is stored. Values that came from the environment are their
/// interpolations again. What is secret by its key is `???`, which has to be given where the stored
/// one is used, and so is every text that contains such a value, the value of a variable with a
/// secret's name, or an address with a password (url_secrets.h). A reference to the environment
/// below a secret's key, or with such an address as its default, loses its default. Interpolated
/// once more it is the same but for the secrets.
Config stored_config(Config resolved);

/// A resolved configuration as it is shown: with *** for what is secret by its key, for texts that
/// contain such a value, and for what came from a variable with a secret's name. Addresses are
/// shown without their passwords.
Config shown_config(Config resolved);

/// `text` without the defaults of variables with a secret's name: `${oc.env:HF_TOKEN}` in place of
/// `${oc.env:HF_TOKEN,DEFAULT}`.
std::string without_secret_defaults(std::string text);

/// True for a value that came from a variable with a secret's name.
bool is_secret_value(const Config& node);

/// One word of a command line as it is shown and stored: `key=***` for a secret's key, with *** for
/// the secrets in a value that is a map or list, for a value that contains that of a variable with
/// a secret's name, and for passwords of addresses; without defaults of secret variables.
std::string shown_word(const std::string& word);
/// All words; also the word behind an option of a secret's name (`--api-key WORD`), and words that
/// contain the secret of another.
std::vector<std::string> shown_words(const std::vector<std::string>& words);

}  // namespace s2s
