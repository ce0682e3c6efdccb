#include "s2s/config.h"

#include "config_test_support.h"

using s2s::Config;
using s2s::test::error_of;
using s2s::test::yaml;

TEST_CASE("integers are read in decimal, hexadecimal, octal and with grouped digits") {
  CHECK(yaml("42").as_int("x") == 42);
  CHECK(yaml("-7").as_int("x") == -7);
  CHECK(yaml("+7").as_int("x") == 7);
  CHECK(yaml("0x1F").as_int("x") == 31);
  CHECK(yaml("0o17").as_int("x") == 15);
  CHECK(yaml("1_000_000").as_int("x") == 1000000);
  CHECK(yaml("-9223372036854775808").as_int("x") == INT64_MIN);
}

TEST_CASE("floats are read with exponents that PyYAML takes for strings") {
  CHECK(yaml("3e-4").as_double("x") == 3e-4);
  CHECK(yaml("1e-6").as_double("x") == 1e-6);
  CHECK(yaml("1.5E+3").as_double("x") == 1500.0);
  CHECK(yaml(".5").as_double("x") == 0.5);
  CHECK(yaml("-2.").as_double("x") == -2.0);
  CHECK(std::isinf(yaml("-.inf").as_double("x")));
  CHECK(std::isnan(yaml(".nan").as_double("x")));
  CHECK(yaml("3").as_double("x") == 3.0);
}

TEST_CASE("an integer is not read from a fraction, a quoted number or a leading zero") {
  CHECK(error_of([] { yaml("1.5").as_int("a.b"); }) ==
        "[config/type] a.b (test.yaml:1:1): expected an integer, got 1.5");
  CHECK(error_of([] { yaml("1e6").as_int("a"); }) ==
        "[config/type] a (test.yaml:1:1): expected an integer, got 1e6; write 1000000");
  CHECK(error_of([] { yaml("'3'").as_int("a"); }) ==
        "[config/type] a (test.yaml:1:1): expected an integer, got \"3\"; write it without quotes");
  CHECK(error_of([] { yaml("010").as_int("a"); }) != "");
  CHECK(error_of([] { yaml("99999999999999999999").as_int("a"); }) != "");
  CHECK(error_of([] { yaml("0x").as_int("a"); }) != "");
  CHECK(error_of([] { yaml("true").as_int("a"); }) != "");
}

TEST_CASE("a bool is not read from a number or an old spelling") {
  CHECK(yaml("true").as_bool("x"));
  CHECK_FALSE(yaml("False").as_bool("x"));
  CHECK(error_of([] { yaml("1").as_bool("a"); }) ==
        "[config/type] a (test.yaml:1:1): expected true or false, got 1; write true");
  CHECK(error_of([] { yaml("yes").as_bool("a"); }).find("write true") != std::string::npos);
  CHECK(error_of([] { yaml("'true'").as_bool("a"); }) != "");
}

TEST_CASE("any scalar is a string, null and trees are not") {
  CHECK(yaml("32").as_string("x") == "32");
  CHECK(yaml("bf16-true").as_string("x") == "bf16-true");
  CHECK(yaml("'null'").as_string("x") == "null");
  CHECK(yaml("''").as_string("x") == "");
  CHECK(error_of([] { yaml("null").as_string("a"); }) ==
        "[config/type] a (test.yaml:1:1): expected a string, got null");
  CHECK(error_of([] { yaml("[1]").as_string("a"); }).find("got a list") != std::string::npos);
  CHECK(error_of([] { yaml("{a: 1}").as_string("a"); }).find("got a map") != std::string::npos);
}

TEST_CASE("null, ~ and nothing are null") {
  CHECK(yaml("a: null").find("a")->is_null());
  CHECK(yaml("a: ~").find("a")->is_null());
  CHECK(yaml("a:").find("a")->is_null());
  CHECK(yaml("").is_null());
}

TEST_CASE("a mandatory value that is still ??? is an error with the way to give it") {
  const Config config = yaml("a: ???");
  CHECK(config.find("a")->is_missing());
  CHECK(error_of([&] { config.find("a")->as_int("m.a"); }) ==
        "[config/missing] m.a (test.yaml:1:1): the value is mandatory but still ???; give one in "
        "the file or on the command line: m.a=VALUE");
}

TEST_CASE("paths go through maps and lists, and keys may hold dots") {
  const Config config = yaml("a: {b: [{c: 5}, 6]}\ntest.clean: {x: 1}");
  CHECK(config.find_path("a.b.0.c")->as_int("") == 5);
  CHECK(config.find_path("a.b.1")->as_int("") == 6);
  CHECK(config.find_path("test.clean.x")->as_int("") == 1);
  CHECK(config.find_path("a.b.2") == nullptr);
  CHECK(config.find_path("a.x") == nullptr);
  CHECK(config.find_path("a.b.x") == nullptr);
}

TEST_CASE("every value knows the place of its key") {
  const Config config = yaml("a:\n  b: 1\n  c:\n    - x\n    - {d: 2}\n");
  CHECK(config.find("a")->origin().text() == "test.yaml:1:1");
  CHECK(config.find_path("a.b")->origin().text() == "test.yaml:2:3");
  CHECK(config.find_path("a.c")->origin().text() == "test.yaml:3:3");
  CHECK(config.find_path("a.c.0")->origin().text() == "test.yaml:4:7");
  CHECK(config.find_path("a.c.1.d")->origin().text() == "test.yaml:5:8");
}

TEST_CASE("a child is made by the subscript, and erased") {
  Config config;
  config["a"]["b"] = Config::scalar("3");
  CHECK(config.find_path("a.b")->as_int("") == 3);
  config.erase("a");
  CHECK(config.find("a") == nullptr);
}
