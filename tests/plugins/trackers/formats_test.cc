// The bytes that the loggers of the plugin `trackers` write: checksums, records, messages.

#include <doctest/doctest.h>

#include <filesystem>
#include <system_error>

#include "common/full_disk.h"
#include "common/temporary_folder.h"
#include "plugins/loggers/trackers/plain_value.h"
#include "plugins/loggers/trackers/proto_message.h"
#include "plugins/loggers/trackers/record_file.h"
#include "plugins/loggers/trackers/sha256.h"
#include "plugins/loggers/trackers/tensorboard_logger.h"
#include "plugins/loggers/trackers/wandb_log.h"
#include "plugins/trackers/wandb_records.h"

using namespace s2s::trackers;
using s2s::test::TemporaryFolder;
using s2s::test::wandb_records;

namespace {

std::string some_bytes(size_t count, size_t seed) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes += static_cast<char>((i * i + 31 * seed + i) % 251);
  return bytes;
}

}  // namespace

TEST_CASE("a TFRecord has its length and two masked CRC-32C") {
  // CRC-32C of "123456789" is 0xE3069283 (RFC 3720, B.4, and Castagnoli's own check value).
  const uint32_t crc = 0xE3069283;
  CHECK(masked_crc32c("123456789") == ((crc >> 15 | crc << 17) + 0xA282EAD8));
  const std::string record = tf_record("123456789");
  REQUIRE(record.size() == 8 + 4 + 9 + 4);
  CHECK(record.substr(0, 8) == std::string("\x09\0\0\0\0\0\0\0", 8));
  CHECK(record.substr(8, 4) == little_endian_bytes(masked_crc32c(record.substr(0, 8)), 4));
  CHECK(record.substr(12, 9) == "123456789");
  CHECK(record.substr(21) == little_endian_bytes(masked_crc32c("123456789"), 4));
}

TEST_CASE("messages have the bytes of protobuf's documentation, and are read again") {
  CHECK(ProtoMessage().integer(1, 150).bytes() == "\x08\x96\x01");
  CHECK(ProtoMessage().text(2, "testing").bytes() == "\x12\x07testing");
  CHECK(ProtoMessage().message(3, ProtoMessage().integer(1, 150)).bytes() ==
        "\x1a\x03\x08\x96\x01");
  CHECK(ProtoMessage().integer(1, -1).bytes() == "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  const std::string bytes = ProtoMessage()
                                .number(1, 1.5)
                                .float32(2, -2)
                                .integer(300, int64_t{1} << 40)
                                .numbers(4, {1, 2})
                                .bytes();
  const std::vector<ProtoField> fields = proto_fields(bytes);
  REQUIRE(fields.size() == 4);
  CHECK(fields[0].bytes == std::string("\0\0\0\0\0\0\xf8\x3f", 8));
  CHECK(fields[1].bytes == std::string("\0\0\0\xc0", 4));
  CHECK(fields[2].number == 300);
  CHECK(fields[2].integer == uint64_t{1} << 40);
  CHECK(fields[3].bytes.size() == 16);
  CHECK(proto_fields(std::string_view(bytes).substr(0, bytes.size() - 1)).size() == 3);
}

TEST_CASE("SHA-256 is that of FIPS 180-4") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("records of every size around a block's end come back, and a cut file continues") {
  const TemporaryFolder folder;
  const std::string path = folder / "run.wandb";
  std::vector<std::string> written;
  const auto write = [&](size_t end, const std::vector<size_t>& sizes) {
    WandbLog log(path, end, 60);
    for (const size_t size : sizes) {
      written.push_back(some_bytes(size, written.size()));
      log.append(written.back());
    }
  };
  write(0, {0, 1, 32768 - 7 - 7 - 7 - 8 - 7, 5, 32761, 32760, 32754, 32755, 100000, 3});
  const auto check = [&] {
    const std::vector<WandbRecord> found = wandb_records(path);
    REQUIRE(found.size() == written.size());
    for (size_t i = 0; i < found.size(); ++i) CHECK(found[i].data == written[i]);
    CHECK(found.back().end == std::filesystem::file_size(path));
    return found;
  };
  const std::vector<WandbRecord> found = check();
  const std::string file = text_of_file(path);
  CHECK(file.substr(0, 7) == std::string(":W&B\xe1\xbe\0", 7));
  const std::string other = folder / "other.wandb";
  replace_file(other, file.substr(0, file.size() - 1));
  CHECK(wandb_records(other).size() == written.size() - 1);
  std::string damaged = file;
  damaged[found[4].end - 1] ^= 1;
  replace_file(other, damaged);
  CHECK(wandb_records(other).size() == 4);
  replace_file(other, "no log");
  CHECK(wandb_records(other).empty());
  written.resize(6);
  write(found[5].end, {40000, 12});
  check();
}

TEST_CASE("a file that cannot be opened or written is named with the reason") {
  const TemporaryFolder folder;
  folder.write("file", "");
  CHECK_THROWS_AS(RecordFile(folder / "file/below", 1), std::system_error);
  RecordFile log(folder / "log", 60);
  log.append("1234");
  const s2s::test::FullDisk full(2);
  try {
    log.flush();
    FAIL("no error");
  } catch (const std::system_error& error) {
    CHECK(error.code().value() == EFBIG);
    CHECK(std::string(error.what()).find(folder / "log") != std::string::npos);
  }
}

TEST_CASE("the buffer is written when it is old or large, and at the end") {
  const TemporaryFolder folder;
  RecordFile late(folder / "late", 3600), soon(folder / "soon", 0);
  late.append("a");
  soon.append("a");
  CHECK(text_of_file(folder / "late") == "");
  CHECK(text_of_file(folder / "soon") == "a");
  late.append(std::string(300000, 'b'));
  CHECK(text_of_file(folder / "late").size() == 300001);
  { RecordFile(folder / "end", 3600).append("c"); }
  CHECK(text_of_file(folder / "end") == "c");
}

TEST_CASE("tags become paths below a folder, values numbers where they are numbers") {
  CHECK(path_of_tag("val_dev/0/answer") == "val_dev/0/answer");
  CHECK(path_of_tag("/../a b/.//..x/") == "_/_/a_b/_/_/..x/_");
  CHECK(plain_value("1e-3") == PlainValue(1e-3));
  CHECK(plain_value("true") == PlainValue(true));
  for (const char* const text : {"", "nan", "1e999", "12 s", "0x10", "llama"}) {
    CHECK(plain_value(text) == PlainValue(std::string(text)));
  }
}
