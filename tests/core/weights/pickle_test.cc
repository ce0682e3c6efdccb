#include "weights/pickle.h"

#include <doctest/doctest.h>

#include <string>

#include "core/weights/test_files.h"

using namespace s2s::test;
using namespace std::string_literals;
using Kind = s2s::PickleValue::Kind;

namespace {

s2s::Pickle read(const std::string& bytes) {
  s2s::ReadingBudget budget("p");
  return s2s::read_pickle(budget, bytes);
}

std::string read_error(const std::string& body) {
  return error_of([&] { read("\x80\x02" + body); });
}

}  // namespace

TEST_CASE("plain values of all protocols are read") {
  // {"a": (1, -1, 300, 2.5, None, True, [b"xy"]), "a": 70000}, with a frame and a memo.
  const std::string body =
      "\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01"
      "a\x94(K\x01J\xff\xff\xff\xffM\x2c\x01G\x40\x04\x00\x00\x00\x00\x00\x00N\x88]("
      "C\x02xyeth\x01J\x70\x11"
      "\x01\x00u."s;
  const s2s::Pickle pickle = read(body);
  REQUIRE(pickle.root->kind == Kind::kDict);
  REQUIRE(pickle.root->items().size() == 4);
  const s2s::PickleValue& tuple = *pickle.root->items()[1];
  REQUIRE(tuple.items().size() == 7);
  CHECK(tuple.items()[0]->number == 1);
  CHECK(tuple.items()[1]->number == -1);
  CHECK(tuple.items()[2]->number == 300);
  CHECK(tuple.items()[3]->kind == Kind::kReal);
  CHECK(tuple.items()[4]->kind == Kind::kNone);
  CHECK(tuple.items()[5]->number == 1);
  CHECK(tuple.items()[6]->items().at(0)->text() == "xy");
  CHECK(s2s::find_item(*pickle.root, "a")->number == 70000);  // the last counts
  CHECK(s2s::find_item(*pickle.root, "b") == nullptr);
}

TEST_CASE("whole numbers of any length") {
  const auto number = [](const std::string& bytes) {
    const std::string length(1, static_cast<char>(bytes.size()));
    return read("\x80\x02\x8a" + length + bytes + ".").root->number;
  };
  CHECK(number("") == 0);
  CHECK(number("\xff") == -1);
  CHECK(number("\xff\x00"s) == 255);
  CHECK(number("\x00\x80"s) == -32768);
  CHECK(number("\xff\xff\xff\xff\xff\xff\xff\x7f") == INT64_MAX);
  CHECK(number("\x00\x00\x00\x00\x00\x00\x00\x80"s) == INT64_MIN);
}

TEST_CASE("pickles that break a rule are refused with their fault") {
  CHECK(has(error_of([] { read(""); }), "truncated"));
  CHECK(has(error_of([] { read("(dp0\n."); }), "does not begin with a protocol"));
  CHECK(has(error_of([] { read("\x80\x09."); }), "protocol 9"));
  CHECK(has(read_error(""), "truncated"));
  CHECK(has(read_error("."), "pops a value from an empty stack"));
  CHECK(has(read_error("]t."), "pops a mark that does not exist"));
  CHECK(has(read_error("h\x07."), "reads a memo entry that does not exist"));
  CHECK(has(read_error("}(K\x01u."), "a key without a value"));
  CHECK(has(read_error("K\x01s."), "pops a value from an empty stack"));
  CHECK(has(read_error("K\x01K\x02K\x03s."), "a value that is not a container"));
  CHECK(has(read_error("X\xff\xff\xff\xff."), "truncated"));
  CHECK(has(read_error("K\x01)R."), "a value that is not a function"));
  CHECK(has(read_error("I1\n."), "unknown opcode 0x49 at byte 2"));
  CHECK(has(read_error("K\x01K\x02\x93."), "without a name"));
  CHECK(has(read_error("b."), "pops a value from an empty stack"));
  CHECK(has(read_error("]Nb."), "a value that is not a container"));
  CHECK(has(read_error("NQ."), "persistent id"));
}

TEST_CASE("a small pickle cannot fill the memory") {
  // One tuple of many items, and a copy of it made again and again.
  std::string body = "(";
  for (int i = 0; i < 100000; ++i) body += 'N';
  body += "tq\x01" + "0ctorch\nSize\nq\x02"s + "0(";
  for (int i = 0; i < 1000; ++i) body += "h\x02h\x01\x85R";
  CHECK(has(read_error(body + "t."), "bytes take more than"));
  // Lists of one byte take 48 each.
  CHECK(has(read_error("(" + std::string(2'000'000, ']') + "t."),
            "the values in its pickle of 2000005 bytes take more than 80000160 bytes"));
  CHECK_NOTHROW(read("\x80\x02(" + std::string(2'000'000, 'N') + "t."));  // one value
  // A tensor has 64 sizes and 64 strides; a call of five bytes makes another one.
  const std::string dims = "(" + std::string(64, '\x88') + "t";
  std::string calls = "ctorch._utils\n_rebuild_tensor_v2\nq\x01((X\x07\x00\x00\x00storage"s +
                      "ctorch\nFloatStorage\nX\x01\x00\x00\x00"s + "0X\x03\x00\x00\x00"s +
                      "cpuK\x01tQK\x00"s + dims + dims + "\x89}tq\x02(";
  for (int i = 0; i < 300'000; ++i) calls += "h\x01h\x02R";
  CHECK(has(read_error(calls + "t."), "bytes take more than"));
}

TEST_CASE("a list that holds itself is read") {
  const s2s::Pickle pickle = read(
      "\x80\x02]q\x01h\x01"
      "a.");
  CHECK(pickle.root->items().at(0) == pickle.root);
}

TEST_CASE("the calls that describe tensors check their arguments") {
  const std::string storage = "X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x00"s +
                              "0X\x03\x00\x00\x00"s + "cpuK\x06";
  const auto tensor = [&](const std::string& arguments) {
    return "ctorch._utils\n_rebuild_tensor_v2\n((" + storage + "tQ" + arguments + "\x89}tR.";
  };
  const s2s::Pickle good = read("\x80\x02" + tensor("K\x01K\x02K\x03\x86K\x03K\x01\x86"));
  REQUIRE(good.root->kind == Kind::kTensor);
  CHECK(good.root->tensor().offset == 1);
  CHECK(good.root->tensor().sizes == std::vector<int64_t>{2, 3});
  CHECK(good.root->tensor().storage.key == "0");
  CHECK(good.root->tensor().storage.num_elements == 6);
  CHECK(has(read_error(tensor("J\xff\xff\xff\xffK\x02\x85K\x01\x85")), "negative number"));
  CHECK(has(read_error(tensor("K\x01K\x02\x85K\x01K\x01\x86")),
            "different numbers of sizes and strides"));
  CHECK(has(read_error(tensor("K\x01NK\x01\x85")), "argument 2 of the wrong type"));
  CHECK(has(read_error("(" + storage + "t0(K\x01tQ."), "persistent id"));
  CHECK(has(read_error("ctorch._utils\n_rebuild_tensor_v2\n)R."), "too few arguments"));
}
