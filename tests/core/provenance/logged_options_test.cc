#include "provenance/logged_options.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "config/load_config.h"
#include "config/yaml_reader.h"
#include "config/yaml_writer.h"

using s2s::Config;

namespace {

struct Variable {
  Variable(const char* of, const char* value) : name(of) { setenv(of, value, 1); }
  ~Variable() { unsetenv(name); }
  const char* name;
};

Config resolved(const std::string& text) {
  Config config = s2s::parse_yaml(text, "test.yaml");
  s2s::resolve_interpolations(config);
  return config;
}

}  // namespace

TEST_CASE("loggers receive references and *** in place of the environment's values and secrets") {
  const Variable token("S2S_TEST_HF_TOKEN", "hf_do_not_tell"), plain("S2S_TEST_PLAIN", "of-mine");
  const Variable job("SLURM_JOB_ID", "4711"), secs("S2S_TEST_SECS", "3");
  const Config config = resolved(
      "secrets: {pin: pin-of-mine}\n"
      "exp_manager:\n"
      "  loggers:\n"
      "    - name: mlflow\n"
      "      save_dir: '/x/${oc.env:S2S_TEST_PLAIN}'\n"
      "      api_key: '${oc.env:S2S_TEST_HF_TOKEN}'\n"
      "      flush_secs: '${oc.env:S2S_TEST_SECS}'\n"
      "      run_name: 'job ${oc.env:SLURM_JOB_ID}'\n"
      "      experiment_name: 'of ${oc.env:S2S_TEST_PLAIN}'\n"
      "      notes: [plain, '${secrets.pin}', 'https://u:p-of-u@h', '\\${x}']\n"
      "      tags: {t: '${oc.env:S2S_TEST_HF_TOKEN}', dir: '${oc.env:S2S_TEST_PLAIN}', pass: xyz}\n"
      "    - {name: csv}\n");
  const Config loggers = s2s::run::logged_loggers(config);
  const auto text = [&](const char* path) { return loggers.find_path(path)->text(); };
  CHECK(text("0.name") == "mlflow");
  CHECK(text("0.save_dir") == "/x/of-mine");
  CHECK(text("0.api_key") == "hf_do_not_tell");  // a logger that uploads needs it
  CHECK(loggers.find_path("0.flush_secs")->as_int("") == 3);
  CHECK(text("0.run_name") == "job 4711");
  CHECK(text("0.experiment_name") == "of ${oc.env:S2S_TEST_PLAIN}");
  CHECK(text("0.notes.0") == "plain");
  CHECK(text("0.notes.1") == "***");
  CHECK(text("0.notes.2") == "***");
  CHECK(text("0.notes.3") == "${x}");
  CHECK(text("0.tags.t") == "${oc.env:S2S_TEST_HF_TOKEN}");
  CHECK(text("0.tags.dir") == "${oc.env:S2S_TEST_PLAIN}");
  CHECK(text("0.tags.pass") == "***");
  CHECK(text("1.name") == "csv");
}

TEST_CASE("one logger, none, and the name of the runs") {
  const Variable plain("S2S_TEST_PLAIN", "of-mine");
  const Config one = resolved(
      "exp_manager: {name: 'a-${oc.env:S2S_TEST_PLAIN}', loggers: {name: wandb, notes: "
      "'${oc.env:S2S_TEST_PLAIN}', save_dir: '${oc.env:S2S_TEST_PLAIN}'}}");
  const Config logger = s2s::run::logged_loggers(one);
  CHECK(logger.find("notes")->text() == "${oc.env:S2S_TEST_PLAIN}");
  CHECK(logger.find("save_dir")->text() == "of-mine");
  CHECK(s2s::run::logged_value(one, "exp_manager.name").text() == "a-${oc.env:S2S_TEST_PLAIN}");
  CHECK(s2s::run::logged_loggers(resolved("exp_manager: {}")).is_null());
}
