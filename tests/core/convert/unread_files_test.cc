#include "convert/unread_files.h"

#include "convert/importer.h"
#include "core/convert/convert_files.h"

using namespace s2s;
using namespace s2s::convert;
using namespace s2s::test;

TEST_CASE("recordings of other formats and texts of no recording are listed with a way out") {
  const TemporaryFolder dir;
  const std::string folder = (dir.path() / "rec").string();
  write_seconds(folder + "/a.wav", 8000, 1, 2);
  write_seconds(folder + "/deep/talk_user.wav", 8000, 1);
  for (const char* name : {"a.srt", "b.m4a", "c.webm", "d.vtt", "deep/talk.json", ".hidden.m4a",
                           "readme.md", "deep/e.MP4", "a.txt", "notes.docx"}) {
    write_text(folder + "/" + name, "x");
  }
  std::vector<std::string> names;
  const std::vector<std::string> files = unread_files(folder);
  for (const std::string& file : files) names.push_back(file.substr(folder.size() + 1));
  // a.txt: a.srt is read in its place.
  CHECK(names ==
        std::vector<std::string>{"a.txt", "b.m4a", "c.webm", "d.vtt", "deep/e.MP4", "notes.docx"});
  const std::string text = unread_text(files, folder);
  CHECK(text ==
        "6 files were not read: a.txt, b.m4a, c.webm, d.vtt, deep/e.MP4 and 1 more; recordings of "
        "these formats are read where ffmpeg is installed (Debian: apt-get install ffmpeg); "
        "elsewhere, this makes one readable: ffmpeg -i '" +
            folder + "/b.m4a' '" + folder + "/b.wav'");
  CHECK(unread_text({}, folder).empty());
}

TEST_CASE("a source that holds only other formats says which, and how to convert them") {
  const TemporaryFolder dir;
  const std::string folder = (dir.path() / "rec").string();
  make_folder(folder);
  write_text(folder + "/b.m4a", "x");
  const std::string of_folder = message_of([&] { detect_import(folder, {}); });
  CHECK(holds(of_folder, "[data/convert-source]"));
  CHECK(holds(of_folder, "1 file was not read: b.m4a; recordings of these formats are read where"));
  const std::string of_file = message_of([&] { detect_import(folder + "/b.m4a", {}); });
  CHECK(holds(of_file, "(Debian: apt-get install ffmpeg; not with --untrusted); elsewhere"));
  CHECK(holds(of_file, "convert it first: ffmpeg -i '"));
}
