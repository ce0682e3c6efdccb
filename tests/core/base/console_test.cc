#include "base/console.h"

#include <doctest/doctest.h>

#include <sstream>

#include "base/log.h"
#include "base/progress_bar.h"

using s2s::Console;
using s2s::ProgressBar;

namespace {

struct FakeClock {
  double now_s = 100;
  s2s::Clock clock() {
    return [this] { return now_s; };
  }
};

s2s::ProgressSettings settings(int64_t total) {
  s2s::ProgressSettings out;
  out.title = "train";
  out.total = total;
  return out;
}

constexpr const char* kErase = "\r\033[K";

}  // namespace

TEST_CASE("a line that stays pushes the status line down") {
  std::ostringstream out;
  {
    Console console(out, true, 20);
    console.set_status("working");
    console.print_line("hello");
    console.set_status("a status that is longer than the line");
  }
  CHECK(out.str() == std::string(kErase) + "working" + kErase + "hello\nworking" + kErase +
                         "a status that is lo" + kErase);
}

TEST_CASE("lines and status show controls, begin no lines of others and cut no characters") {
  std::ostringstream out;
  {
    Console console(out, true, 12);
    console.print_line("cut \033]0;x\a\nerror: [fake/line]");
    console.set_status("\033[2J\nx");
    console.set_status("loss of \u00fc\u00fc\u00fc");
  }
  CHECK(out.str() == "cut \\x1b]0;x\\x07\n  error: [fake/line]\n" + std::string(kErase) +
                         "\\x1b[2J\\nx" + kErase + "loss of \u00fc" + kErase);
}

TEST_CASE("without a terminal there is no status line") {
  std::ostringstream out;
  Console console(out, false);
  console.set_status("working");
  console.print_line("hello");
  CHECK(out.str() == "hello\n");
}

TEST_CASE("on a terminal progress is one line with bar, rate and time left") {
  std::ostringstream out;
  FakeClock time;
  Console console(out, true, 80);
  ProgressBar bar(console, settings(100), time.clock());
  for (int i = 1; i <= 25; ++i) {
    time.now_s += 0.5;
    bar.update(i, "loss 2.3");
  }
  const std::string last = out.str().substr(out.str().rfind(kErase) + 4);
  CHECK(last == "train  25 % [####--------------] 25/100 steps, 2.0 steps/s, 0:38 left, loss 2.3");
  CHECK(out.str().find('\n') == std::string::npos);
}

TEST_CASE("a narrow terminal shows the numbers without the bar") {
  std::ostringstream out;
  FakeClock time;
  Console console(out, true, 40);
  ProgressBar bar(console, settings(100), time.clock());
  time.now_s += 1;
  bar.update(50);
  CHECK(out.str() == std::string(kErase) + "train  50 % 50/100 steps, 50.0 steps/s,");
}

TEST_CASE("without a terminal progress is a line every few seconds") {
  std::ostringstream out;
  FakeClock time;
  Console console(out, false);
  ProgressBar bar(console, settings(1000), time.clock());
  for (int i = 1; i <= 25; ++i) {
    time.now_s += 1;
    bar.update(i);
  }
  CHECK(out.str() ==
        "train: 10/1000 steps, 1.0 steps/s, 16:30 left\n"
        "train: 20/1000 steps, 1.0 steps/s, 16:20 left\n");
}

TEST_CASE("the rate is that of the last stretch, and counts what this run did") {
  std::ostringstream out;
  FakeClock time;
  Console console(out, false);
  s2s::ProgressSettings resumed = settings(2000);
  resumed.start = 1000;
  ProgressBar bar(console, resumed, time.clock());
  for (int i = 1; i <= 100; ++i) {
    time.now_s += i <= 60 ? 0.125 : 4;
    bar.update(1000 + i);
  }
  const std::string text = out.str();
  CHECK(text.find("1064/2000 steps") != std::string::npos);
  CHECK(text.substr(text.rfind("train")) == "train: 1100/2000 steps, 4.00 s each, 1:00:00 left\n");
}

TEST_CASE("a job of unknown length counts, and its end is one line") {
  std::ostringstream out;
  FakeClock time;
  Console console(out, false);
  s2s::ProgressSettings unknown = settings(0);
  unknown.unit = "files";
  ProgressBar bar(console, unknown, time.clock());
  time.now_s += 20;
  bar.update(40);
  time.now_s += 65;
  bar.update(41, "done");
  bar.finish();
  bar.update(50);
  CHECK(out.str() ==
        "train: 40 files, 2.0 files/s\ntrain: 41 files, 65.00 s each, done\n"
        "train: 41 files in 1:25, done\n");
}

TEST_CASE("a bar that ends early clears its line") {
  std::ostringstream out;
  FakeClock time;
  Console console(out, true, 80);
  {
    ProgressBar bar(console, settings(10), time.clock());
    time.now_s += 1;
    bar.update(1);
  }
  CHECK(out.str().ends_with(kErase));
}

TEST_CASE("durations are written as people read them") {
  CHECK(s2s::format_duration(7.4) == "0:07");
  CHECK(s2s::format_duration(725) == "12:05");
  CHECK(s2s::format_duration(3 * 3600 + 65) == "3:01:05");
  CHECK(s2s::format_duration(2 * 86400 + 3661) == "2 d 1:01:01");
  CHECK(s2s::format_duration(-1) == "?");
}
