#include "shar/field_file.h"

#include "files/line_file.h"
#include "files/tar_index.h"

namespace s2s::data {

SharFieldFile::SharFieldFile(const std::string& path) : path_(path), file_(path) {
  const auto append = [this](std::string_view bytes) {
    file_.write(bytes);
    num_bytes_ += static_cast<int64_t>(bytes.size());
  };
  if (path.ends_with(".tar")) tar_.emplace(append);
  if (path.ends_with(".gz")) gzip_ = std::make_unique<files::GzipWriter>(append);
}

void SharFieldFile::add_pair(const std::string& id, const std::string& extension,
                             std::string_view data, std::string_view manifest) {
  tar_->add(id + "." + extension, data);
  tar_->add(id + ".json", manifest);
}

void SharFieldFile::add_absent(const std::string& id) {
  tar_->add(id + ".nodata", "");
  tar_->add(id + ".nometa", "");
}

void SharFieldFile::add_line(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  if (gzip_) {
    gzip_->write(text);
    return;
  }
  file_.write(text);
  num_bytes_ += static_cast<int64_t>(text.size());
}

void SharFieldFile::commit(bool make_index) {
  if (tar_) tar_->finish();
  if (gzip_) gzip_->finish();
  file_.commit();
  if (make_index && tar_) files::write_tar_index(path_);
  if (make_index && !tar_ && !gzip_) files::write_line_index(path_);
}

}  // namespace s2s::data
