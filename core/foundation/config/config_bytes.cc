#include "config/config_bytes.h"

#include "base/byte_codec.h"

namespace s2s {
namespace {

constexpr int64_t kMostPlaces = (int64_t{1} << 31) - 1;

void write_node(const Config& node, ByteWriter& to) {
  to.number(static_cast<int64_t>(node.kind()));
  to.number(node.origin().line);
  to.number(node.origin().column);
  to.text(node.origin().via);
  switch (node.kind()) {
    case Config::Kind::kNull:
      return;
    case Config::Kind::kScalar:
      to.number(node.quoted() ? 1 : 0);
      return to.text(node.text());
    case Config::Kind::kList:
      to.number(static_cast<int64_t>(node.items().size()));
      for (const Config& item : node.items()) write_node(item, to);
      return;
    case Config::Kind::kMap:
      to.number(static_cast<int64_t>(node.entries().size()));
      for (const auto& [key, value] : node.entries()) {
        to.text(key);
        write_node(value, to);
      }
  }
}

Config read_node(ByteReader& from, const std::string& source, int level) {
  if (level > kMostConfigLevels) ByteReader::fail();
  const auto kind =
      static_cast<Config::Kind>(from.number_up_to(static_cast<int64_t>(Config::Kind::kMap)));
  Origin origin;
  origin.source = source;
  origin.line = static_cast<int>(from.number_up_to(kMostPlaces));
  origin.column = static_cast<int>(from.number_up_to(kMostPlaces));
  origin.via = from.text();
  Config node;
  if (kind == Config::Kind::kScalar) {
    const bool quoted = from.flag();
    node = Config::scalar(std::string(from.text()), quoted);
  } else if (kind == Config::Kind::kList) {
    node = Config::list();
    for (size_t left = from.count(); left > 0; --left) {
      node.items().push_back(read_node(from, source, level + 1));
    }
  } else if (kind == Config::Kind::kMap) {
    node = Config::map();
    for (size_t left = from.count(); left > 0; --left) {
      std::string key(from.text());
      node.entries().emplace_back(std::move(key), read_node(from, source, level + 1));
    }
  }
  node.set_origin(std::move(origin));
  return node;
}

}  // namespace

std::string config_to_bytes(const Config& tree) {
  ByteWriter bytes;
  write_node(tree, bytes);
  return bytes.take();
}

Config config_from_bytes(std::string_view bytes, const std::string& source) {
  ByteReader reader(bytes);
  Config tree = read_node(reader, source, 0);
  if (!reader.at_end()) ByteReader::fail();
  return tree;
}

}  // namespace s2s
