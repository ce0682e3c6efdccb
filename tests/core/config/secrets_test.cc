#include "config/secrets.h"

#include <cstdlib>
#include <memory>
#include <sstream>

#include "common/temporary_folder.h"
#include "config/interpolation.h"
#include "config/load_config.h"
#include "config/yaml_writer.h"
#include "config_test_support.h"

using s2s::Config;
using s2s::test::error_of;
using s2s::test::TemporaryFolder;
using s2s::test::yaml;

namespace {

Config resolved_node(const std::string& text) {
  Config config = yaml(text);
  s2s::resolve_interpolations(config);
  return config;
}

std::string stored(const std::string& text) { return s2s::effective_text(resolved_node(text)); }

std::string shown(const std::string& text) {
  return s2s::write_yaml_inline(s2s::shown_config(resolved_node(text)));
}

struct Variable {
  Variable(const char* of, const char* value) : name(of) { setenv(of, value, 1); }
  ~Variable() { unsetenv(name); }
  const char* name;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("names of secrets are distinguished from names of a model's tokens and keys") {
  std::istringstream secrets(
      "token TOKEN hf_token HF_TOKEN hfToken HFToken HUGGINGFACE_HUB_TOKEN access_token "
      "github-token "
      "AWS_SESSION_TOKEN S2S_JOB_TOKEN wandb_api_key WANDB_API_KEY apiKey APIKey apikey api.key "
      "aws_secret_access_key private_key storage_key password db_password PASSWORD user-passwd "
      "passphrase client_secret SecretKey credentials bearer SLURM_JWT db_pass OMP_PASS pass auth "
      "SLURM_SPANK_X_AUTH github_pat GITHUB_PAT azure_sas sas jwt dbPass");
  for (std::string name; secrets >> name;) CHECK_MESSAGE(s2s::is_secret_name(name), name);
  std::istringstream others(
      "tokenizer tokens num_tokens max_tokens bos_token eos_token_id pad_token user_token "
      "text_token "
      "special_tokens token_id tokens_per_frame key keys num_key_value_heads sort_key k_key "
      "key_bias "
      "group_by_key lambda_token author secretary keyword monkey passes low_pass compass batch "
      "path PATH pattern author authors high_pass forward_pass bypass sass patience patch -");
  for (std::string name; others >> name;) CHECK_MESSAGE(!s2s::is_secret_name(name), name);
}

TEST_CASE("a stored configuration refers to the environment, and comes back the same") {
  const Variable token("S2S_TEST_TOKEN", "hf_do_not_tell"), root("S2S_TEST_ROOT", "/data");
  const Variable rank("S2S_TEST_COUNT", "12");
  unsetenv("S2S_TEST_NOTHING");
  const std::string text =
      "auth: '${oc.env:S2S_TEST_TOKEN}'\n"
      "copy: '${auth}'\n"
      "again: 'x-${copy}-y'\n"
      "url: 'https://u:${oc.env:S2S_TEST_TOKEN}@host/${.auth}\\${not}'\n"
      "path: '${oc.env:S2S_TEST_ROOT}/a'\n"
      "count: '${oc.env:S2S_TEST_COUNT}'\n"
      "or: '${oc.env:S2S_TEST_NOTHING, 5}'\n"
      "or_else: '${oc.env:S2S_TEST_NOTHING,${oc.env:S2S_TEST_TOKEN}}'\n"
      "slash: 'a\\\\${oc.env:S2S_TEST_COUNT}'\n"
      "tree: {inner: '${oc.env:S2S_TEST_TOKEN}'}\n"
      "same_tree: '${tree}'\n"
      "plain: '\\${oc.env:S2S_TEST_TOKEN}'\n";
  const std::string written = stored(text);
  CAPTURE(written);
  CHECK_FALSE(has(written, "do_not_tell"));
  CHECK(has(written, "auth: \"${oc.env:S2S_TEST_TOKEN}\"\n"));
  CHECK(has(written, "copy: \"${oc.env:S2S_TEST_TOKEN}\"\n"));
  CHECK(has(written, "again: \"x-${oc.env:S2S_TEST_TOKEN}-y\"\n"));
  CHECK(has(written, "path: \"${oc.env:S2S_TEST_ROOT}/a\"\n"));
  CHECK(has(written, "or: \"${oc.env:S2S_TEST_NOTHING,5}\"\n"));
  const Config again = resolved_node(written);
  CHECK(s2s::same_value(again, resolved_node(text)));
  CHECK(again.find("count")->as_int("") == 12);
  CHECK(s2s::effective_text(again) == written);
}

TEST_CASE("a value that was put in the place of a variable's is stored") {
  const Variable root("S2S_TEST_ROOT", "/data");
  Config config = resolved_node("path: '${oc.env:S2S_TEST_ROOT}'\n");
  const s2s::Origin origin = config.find("path")->origin();
  config["path"] = Config::scalar("/copy", true);
  config["path"].set_origin(origin);
  CHECK(s2s::effective_text(config) == "path: /copy\n");
}

TEST_CASE("a literal secret is not stored, and has to be given again") {
  const std::string written = stored(
      "model: {hf_token: abc, wandb: {api_key: d3, use: true}, pad_token: '<pad>', token: 5,\n"
      "  credentials: {user: me, files: [x, 4]}, password: 1234, auth_token: null, secret: ''}\n");
  CAPTURE(written);
  CHECK(has(written, "hf_token: ???"));
  CHECK(has(written, "api_key: ???"));
  CHECK(has(written, "use: true"));
  CHECK(has(written, "pad_token: \"<pad>\""));
  CHECK(has(written, "token: 5"));
  CHECK(has(written, "user: ???"));
  CHECK(has(written, "password: ???"));
  CHECK(has(written, "auth_token: null"));
  CHECK(has(written, "secret: \"\""));
  CHECK_FALSE(has(written, "1234"));
  CHECK(yaml(written).find_path("model.hf_token")->is_missing());
}

TEST_CASE("shown values are masked by their key, or by the name of their variable") {
  const Variable token("S2S_TEST_TOKEN", "x1"), auth("S2S_TEST_HF_TOKEN", "tell-nobody");
  CHECK(shown("{hf_token: abc, bos_token: '<s>'}") == "{hf_token: \"***\", bos_token: \"<s>\"}");
  CHECK(shown("{url: 'u:${oc.env:S2S_TEST_HF_TOKEN}@h'}") == "{url: \"***\"}");
  CHECK(shown("{a: {api_key: [1x, 2y]}, b: 3}") == "{a: {api_key: [\"***\", \"***\"]}, b: 3}");
  const std::string message = error_of([] {
    resolved_node("{steps: '${oc.env:S2S_TEST_HF_TOKEN}'}").find("steps")->as_int("trainer.steps");
  });
  CHECK(has(message, "trainer.steps"));
  CHECK_FALSE(has(message, "tell-nobody"));
}

TEST_CASE("words of a command line are shown without secrets") {
  using Words = std::vector<std::string>;
  const Words words = {"s2s-run",
                       "train",
                       "a.yaml",
                       "model.llm.hf_token=abc",
                       "+model.api_key='x y'",
                       "data.credentials.user=me",
                       "model.tokens.bos_token=5",
                       "trainer.max_steps=20",
                       "model.llm={name: x, hf_token: abc}",
                       "model.token=${oc.env:HF_TOKEN}",
                       "--api-key",
                       "abc",
                       "--password=abc",
                       "--json"};
  const Words expected = {"s2s-run",
                          "train",
                          "a.yaml",
                          "model.llm.hf_token=***",
                          "+model.api_key=***",
                          "data.credentials.user=***",
                          "model.tokens.bos_token=5",
                          "trainer.max_steps=20",
                          "model.llm={name: x, hf_token: \"***\"}",
                          "model.token=${oc.env:HF_TOKEN}",
                          "--api-key",
                          "***",
                          "--password=***",
                          "--json"};
  CHECK(s2s::shown_words(words) == expected);
}

TEST_CASE("a secret of one word is masked in all words, and so are those of the shell") {
  const Variable token("S2S_TEST_HF_TOKEN", "hf_do_not_tell"), pin("S2S_TEST_PIN_PASS", "1234567");
  using Words = std::vector<std::string>;
  const Words words = {"a.hf_token=abcdef",
                       "b.note=x-abcdef",
                       "c={db_pass: secret-9}",
                       "d=[secret-9, 1]",
                       "--api-key",
                       "key-of-me",
                       "key-of-me.yaml",
                       "e=hf_do_not_tell",
                       "f=1234567",
                       "g=https://u:word@h/x",
                       "https://u:word@h/x.yaml"};
  const Words expected = {"a.hf_token=***",
                          "b.note=***",
                          "c={db_pass: \"***\"}",
                          "d=***",
                          "--api-key",
                          "***",
                          "***",
                          "e=***",
                          "f=1234567",
                          "g=https://u:***@h/x",
                          "https://u:***@h/x.yaml"};
  CHECK(s2s::shown_words(words) == expected);
}

TEST_CASE("addresses with passwords are not stored, and shown without them") {
  const Variable host("S2S_TEST_ROOT", "example.org"), word("S2S_TEST_WORD", "of-me");
  const Variable url("S2S_TEST_URL", "https://me:of-me@h");
  const std::string text =
      "{a: 'https://u:pw1@h', b: 'https://u:pw2@${oc.env:S2S_TEST_ROOT}', c: '${a}/x',\n"
      " d: 'https://u:${oc.env:S2S_TEST_WORD}@h', e: '${oc.env:S2S_TEST_URL}',\n"
      " f: '${oc.env:S2S_TEST_NOTHING,https://u:pw3@h}', g: 'https://h:80/x@y'}";
  const std::string written = stored(text);
  CAPTURE(written);
  for (const char* key : {"a", "b", "c"}) CHECK(yaml(written).find(key)->is_missing());
  CHECK(has(written, "d: \"https://u:${oc.env:S2S_TEST_WORD}@h\""));
  CHECK(has(written, "e: \"${oc.env:S2S_TEST_URL}\""));
  CHECK(has(written, "f: \"${oc.env:S2S_TEST_NOTHING}\""));
  CHECK(has(written, "https://h:80/x@y"));
  const Config seen = s2s::shown_config(resolved_node(text));
  CHECK(seen.find("a")->text() == "https://u:***@h");
  CHECK(seen.find("e")->text() == "https://me:***@h");
  const std::string all = s2s::write_yaml(seen, {.show_origins = true});
  for (const char* secret : {"pw1", "pw2", "pw3", "of-me"}) CHECK_FALSE(has(all, secret));
  const std::string message =
      error_of([&] { yaml("{a: 'https://u:pw1@h'}").find("a")->as_int("a"); });
  CHECK(has(message, "https://u:***@h"));
  CHECK_FALSE(has(message, "pw1"));
}

TEST_CASE("neither origins nor messages of the command line tell a secret") {
  Config config = yaml("{model: {}}");
  s2s::apply_overrides(config, {"model.hf_token=abcdef"});
  CHECK(config.find_path("model.hf_token")->text() == "abcdef");
  CHECK(config.find_path("model.hf_token")->origin().text() == "command line: model.hf_token=***");
  const std::string message =
      error_of([&] { s2s::apply_overrides(config, {"model.hf_token={abcdef"}); });
  CHECK(has(message, "model.hf_token=***"));
  CHECK_FALSE(has(message, "abcdef"));
}

TEST_CASE("interpolations of one part are followed without those of others") {
  unsetenv("S2S_TEST_NOTHING");
  Config config = yaml(
      "model: {llm: {size: '${sizes.small}', name: '\\${x}'}}\n"
      "sizes: {small: 4}\n"
      "data: {path: '${oc.env:S2S_TEST_NOTHING}'}\n");
  s2s::Findings findings;
  s2s::resolve_interpolations_at(config, {"model", "llm"}, findings);
  CHECK(findings.empty());
  CHECK(config.find_path("model.llm.size")->as_int("") == 4);
  CHECK(config.find_path("data.path")->text() == "${oc.env:S2S_TEST_NOTHING}");
  s2s::escape_interpolations(*config.find("model"));
  s2s::resolve_interpolations_at(config, {"model"}, findings);
  CHECK(config.find_path("model.llm.name")->text() == "${x}");
  s2s::resolve_interpolations_at(config, {"data"}, findings);
  CHECK(findings.errors().size() == 1);
}

TEST_CASE("a secret is found again in the texts that interpolations put it into") {
  const Variable host("S2S_TEST_ROOT", "example.org");
  const std::string text =
      "secrets: {hf_token: hf_real, pin: 3141592}\n"
      "model: {hub_auth: '${secrets.hf_token}', again: '${.hub_auth}', pin: '${secrets.pin}',\n"
      "  url: 'https://me:${secrets.hf_token}@h', tail: 'x${secrets.pin}', name: hf_other,\n"
      "  place: 'https://me:${secrets.hf_token}@${oc.env:S2S_TEST_ROOT}', seed: 3141592}\n";
  const std::string written = stored(text), seen = shown(text);
  CAPTURE(written);
  CAPTURE(seen);
  for (const std::string& all : {written, seen}) {
    CHECK_FALSE(has(all, "hf_real"));
    CHECK(has(all, "name: hf_other"));
    CHECK(has(all, "seed: 3141592"));
  }
  for (const char* key : {"hub_auth", "again", "pin", "url", "tail", "place"}) {
    CHECK(yaml(written).find_path(std::string("model.") + key)->is_missing());
    CHECK(has(seen, std::string(key) + ": \"***\""));
  }
  const Config whole = s2s::shown_config(resolved_node(text));
  for (const auto& [key, node] : whole.find("model")->entries()) {
    CHECK_FALSE(has(node.origin().text(), "hf_real"));
  }
}

TEST_CASE("a variable's value under a secret's key is masked where it is shown again") {
  const Variable plain("S2S_TEST_ROOT", "of-a-plain-name");
  const std::string text = "{hf_token: '${oc.env:S2S_TEST_ROOT}', url: 'u:${hf_token}@h'}";
  CHECK(shown(text) == "{hf_token: \"***\", url: \"***\"}");
  CHECK(has(stored(text), "url: \"u:${oc.env:S2S_TEST_ROOT}@h\""));
}

TEST_CASE("the secrets of a block that is left out are found in the texts that stay") {
  Config block = yaml("{hub: {hf_token: remembered-one}, plain: not-a-secret, pin_pass: abc}");
  s2s::remember_secrets(block, "my_hub");
  s2s::remember_secrets(Config::scalar("remembered-two"), "hf_token");
  CHECK(shown("{a: x remembered-one, b: not-a-secret, c: abc, d: 'u:remembered-two@h'}") ==
        "{a: \"***\", b: not-a-secret, c: abc, d: \"***\"}");
  CHECK(yaml(stored("{a: x-remembered-one}")).find("a")->is_missing());
  CHECK(s2s::shown_word("--note=remembered-two") == "--note=***");
}

TEST_CASE("short values of secrets are not looked for in other texts") {
  CHECK(shown("{password: abc, path: /abc/d}") == "{password: \"***\", path: /abc/d}");
  CHECK(shown("{password: abcd, path: /abcd/d}") == "{password: \"***\", path: \"***\"}");
  // The longer of two secrets that begin alike is found, too.
  CHECK(shown("{a_secret: abcd, b_secret: abcdef, c: xabcdefy, d: abc}") ==
        "{a_secret: \"***\", b_secret: \"***\", c: \"***\", d: abc}");
}

TEST_CASE("everything below a secret's key is one, also a number called token") {
  CHECK(shown("{secrets: {token: 123456}}") == "{secrets: {token: \"***\"}}");
  CHECK(has(stored("{secrets: {a: {token: 123456}}}"), "token: ???"));
  CHECK(shown("{token: {password: 123456}}") == "{token: {password: \"***\"}}");
  CHECK(shown("{tokens: {token: 123456}}") == "{tokens: {token: 123456}}");
}

TEST_CASE("the default of a secret's reference is neither stored nor shown") {
  const char* const cases[] = {
      "{hf_token: '${oc.env:S2S_TEST_HF_TOKEN,hf_default}'}",
      "{hf_token: '${oc.env:S2S_TEST_PLAIN,hf_default}'}",
      "{url: 'https://me:${oc.env:S2S_TEST_HF_TOKEN,hf_default}@h'}",
      "{auth: '${oc.env:S2S_TEST_HF_TOKEN, hf_default}'}",
      "{hf_token: '${x}', x: '${oc.env:S2S_TEST_PLAIN,hf_default}'}",
      "{hf_token: '${oc.env:S2S_TEST_PLAIN,hf_default}', x: '${hf_token}', y: 'a-${x}'}",
      "{any: '${oc.env:S2S_TEST_PLAIN,${oc.env:S2S_TEST_HF_TOKEN,hf_default}}'}",
      "{hf_token: 'hf_default${oc.env:S2S_TEST_PLAIN,x}'}"};
  for (const bool is_set : {false, true}) {
    for (const std::string text : cases) {
      unsetenv("S2S_TEST_HF_TOKEN");
      unsetenv("S2S_TEST_PLAIN");
      std::vector<std::unique_ptr<Variable>> variables;
      if (is_set) {
        variables.push_back(std::make_unique<Variable>("S2S_TEST_HF_TOKEN", "from-variable-1"));
        variables.push_back(std::make_unique<Variable>("S2S_TEST_PLAIN", "from-variable-2"));
      }
      CAPTURE(is_set);
      CAPTURE(text);
      const std::string written = stored(text);
      CAPTURE(written);
      CHECK_FALSE(has(written, "hf_default"));
      CHECK_FALSE(has(written, "from-variable"));
      const Config seen = s2s::shown_config(resolved_node(text));
      CHECK_FALSE(has(s2s::write_yaml_inline(seen), "hf_default"));
      CHECK_FALSE(has(s2s::write_yaml(seen, {.show_origins = true}), "hf_default"));
    }
  }
  unsetenv("S2S_TEST_HF_TOKEN");
  CHECK(has(stored(cases[0]), "hf_token: \"${oc.env:S2S_TEST_HF_TOKEN}\""));
  CHECK(has(stored(cases[1]), "hf_token: \"${oc.env:S2S_TEST_PLAIN}\""));
  CHECK(has(stored(cases[2]), "url: \"https://me:${oc.env:S2S_TEST_HF_TOKEN}@h\""));
  CHECK(s2s::shown_word("a.hf_token=${oc.env:X,hf_default}") == "a.hf_token=${oc.env:X}");
  CHECK(s2s::shown_word("a.hf_token=${oc.env:X}hf_real") == "a.hf_token=***");
  CHECK(s2s::shown_word("a.url=u:${oc.env:HF_TOKEN,hf_default}@${oc.env:X,5}") ==
        "a.url=u:${oc.env:HF_TOKEN}@${oc.env:X,5}");
  const std::string message =
      error_of([] { resolved_node("{a: 'x${oc.env:HF_TOKEN,hf_default}${'}"); });
  CHECK(has(message, "has no closing"));
  CHECK_FALSE(has(message, "hf_default"));
}

TEST_CASE("a default that is not needed leaves no finding, and is stored where it has a value") {
  const Variable home("S2S_TEST_ROOT", "/home/me");
  const auto findings_of = [](const std::string& text) {
    Config config = yaml(text);
    s2s::Findings findings;
    s2s::resolve_interpolations(config, findings);
    CHECK(config.find_path("paths.data")->text() == "/home/me");
    return findings.errors().size();
  };
  CHECK(findings_of("paths: {data: '${oc.env:S2S_TEST_ROOT,${paths.home}}', home: '${.data}'}") ==
        0);
  CHECK(findings_of("paths: {data: '${oc.env:S2S_TEST_ROOT,${no.such}}'}") == 0);
  CHECK(findings_of("paths: {data: '${oc.env:S2S_TEST_ROOT,${other.x}}'}\nother: {x: '${no}'}") ==
        1);  // other.x has one of its own
  CHECK(has(stored("{a: '${oc.env:S2S_TEST_ROOT,${b}/c}', b: /d}"),
            "a: \"${oc.env:S2S_TEST_ROOT,/d/c}\""));
  CHECK(has(stored("{a: '${oc.env:S2S_TEST_ROOT,${b}}', b: '\\${x}'}"),
            "a: \"${oc.env:S2S_TEST_ROOT,\\\\${x}}\""));
}
