#include "config/url_secrets.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using s2s::has_url_secret;
using s2s::without_url_secrets;

TEST_CASE("secrets of addresses are masked, in any text") {
  struct Case {
    const char *text, *shown;
  };
  const std::vector<Case> cases = {
      {"https://user:word@host/x", "https://user:***@host/x"},
      {"postgresql://me:word@host:5432/x", "postgresql://me:***@host:5432/x"},
      {"https://:word@host", "https://:***@host"},
      {"https://ghp_abc@github.com/a", "https://***@github.com/a"},
      {"HTTP://ghp_abc@host", "HTTP://***@host"},
      {"https://user:w@rd@host", "https://user:***@host"},
      {"https://user:w/r?d@host/x", "https://user:***@host/x"},
      {"https://user:a:b@[::1]:80/x", "https://user:***@[::1]:80/x"},
      {"pipe:curl 'https://a:bcd@h/x' https://e:fgh@h",
       "pipe:curl 'https://a:***@h/x' https://e:***@h"},
      {"key={url: \"https://a:bcd@h\"}", "key={url: \"https://a:***@h\"}"},
      {"https://u:${oc.env:X}tail@host", "https://u:***@host"},
      {"https://u:word@${oc.env:HOST}/x", "https://u:***@${oc.env:HOST}/x"},
      {"https://h/x?sv=1&sig=abc%2F&se=2", "https://h/x?sv=1&sig=***&se=2"},
      {"https://h/x?X-Amz-Signature=abc", "https://h/x?X-Amz-Signature=***"},
      {"https://h/x?access_token=abc#y", "https://h/x?access_token=***#y"},
      {"s3://key:word@bucket?token=abc", "s3://key:***@bucket?token=***"}};
  for (const Case& one : cases) {
    CHECK_MESSAGE(has_url_secret(one.text), one.text);
    CHECK(without_url_secrets(one.text) == one.shown);
    CHECK_MESSAGE(!has_url_secret(one.shown), one.shown);
  }
}

TEST_CASE("addresses without a secret, and references, stay as they are") {
  for (const char* text :
       {"https://host/a@b", "https://host:8080/a@b", "http://[::1]:80/a@b", "user:word@host", "://",
        "ssh://git@github.com/a", "https://git@github.com/a", "ssh://me@host", "file:///a:b@c",
        "https://u:${oc.env:HF_TOKEN}@host", "https://u:${oc.env:A}${oc.env:B}@host",
        "pipe:curl https://u:$WORD@host", "https://host/?q=1&page=2", "https://u:***@host",
        "https://u:@host", "https://host/x y@z", "https://${oc.env:URL,a:b}/c@d"}) {
    CHECK_MESSAGE(!has_url_secret(text), text);
    CHECK(without_url_secrets(text) == text);
  }
}
