// Opens the encoded audio of a source.

#include <filesystem>
#include <stdexcept>

#include "cuts/cuts_errors.h"
#include "cuts/recording_audio.h"
#include "files/byte_file.h"
#include "files/pipe_command.h"
#include "files/tar_header.h"

namespace s2s::data {
namespace {

using Type = AudioSource::Type;

std::unique_ptr<AudioReader> open_output(const std::string& command, const std::string& place) {
  try {
    return std::make_unique<AudioReader>(
        std::make_shared<const std::string>(files::read_command(command)));
  } catch (const Error& error) {
    throw cuts_errors::at_place(place, error);
  }
}

std::unique_ptr<AudioReader> open_file(const std::string& path, const std::string& place) {
  if (const auto command = files::pipe_command(path)) return open_output(*command, place);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw cuts_errors::missing_audio(place, path);
  }
  return std::make_unique<AudioReader>(path);
}

/// Reads a member's data from the archive in place.
std::unique_ptr<AudioReader> open_member(const AudioSource& source, const std::string& place) {
  std::optional<files::TarMember> member;
  try {
    const files::DiskFile tar(source.source, "an uncompressed tar of a Shar directory");
    member = files::next_tar_file(tar, source.begin);
  } catch (const Error& error) {
    throw cuts_errors::at_place(place, error);
  }
  if (!member || member->begin + member->num_bytes > source.end) {
    throw std::runtime_error("there is no member of the tar at these bytes");
  }
  return std::make_unique<AudioReader>(source.source, member->begin,
                                       member->begin + member->num_bytes);
}

std::unique_ptr<AudioReader> open_any(const AudioSource& source, const std::string& place) {
  switch (source.type) {
    case Type::kFile:
      return open_file(source.source, place);
    case Type::kCommand:
      return open_output(source.source, place);
    case Type::kMemory:
      if (!source.bytes) throw std::runtime_error("there are no bytes");
      return std::make_unique<AudioReader>(source.bytes);
    case Type::kSharPointer:
      return open_member(source, place);
    case Type::kUrl:
      throw cuts_errors::source_kind(place, "url", source.source);
    case Type::kShar:
      throw cuts_errors::source_kind(place, "shar", source.source);
  }
  throw std::logic_error("all types of sources are above");
}

}  // namespace

std::string source_name(const AudioSource& source) {
  switch (source.type) {
    case Type::kMemory:
      return "audio in memory";
    case Type::kShar:
      return "audio in Shar";
    case Type::kSharPointer:
      return source.source + "?o=" + std::to_string(source.begin) +
             "&e=" + std::to_string(source.end);
    default:
      return source.source;
  }
}

std::unique_ptr<AudioReader> open_audio(const AudioSource& source, const std::string& place) {
  try {
    return open_any(source, place);
  } catch (const Error&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw cuts_errors::unreadable_audio(place, source_name(source), error.what());
  }
}

}  // namespace s2s::data
