#include "s2s_run/runs/runs_page.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/atomic_file.h"
#include "base/io_errors.h"
#include "base/text.h"
#include "eval/report/report_files.h"
#include "eval/report/report_json.h"
#include "eval/report/training_curves.h"
#include "s2s/foreign_text.h"
#include "s2s_run/runs/runs_facts.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kBegin =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"generator\" content=\"s2s-run runs\">";

std::string cells(const char* tag, const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) {
    out += fmt::format("<{0}>{1}</{0}>", tag, escape_html(text));
  }
  return out;
}

/// "" when nothing differs.
std::string table(const std::string& title, const std::vector<RunRecord>& runs,
                  const std::vector<ConfigDifference>& rows) {
  if (rows.empty()) return "";
  std::vector<std::string> head = {"key"};
  for (const RunRecord& run : runs) head.push_back(run.name);
  std::string out = fmt::format(
      "<h2>{}</h2><div class=\"card scroll\"><table><thead><tr>{}</tr>"
      "</thead><tbody>",
      title, cells("th", head));
  for (const ConfigDifference& row : rows) {
    out += "<tr><th scope=\"row\">" + escape_html(row.key) + "</th>" + cells("td", row.values) +
           "</tr>";
  }
  return out + "</tbody></table></div>";
}

/// The address of a file for a page in `folder`, an absolute path: no letter of a name ends it.
std::string address(const fs::path& file, const fs::path& folder) {
  std::string out;
  for (const char c : fs::absolute(file).lexically_normal().lexically_proximate(folder).string()) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' ||
                          c == '.' || c == '-' || c == '_';
    out += is_plain ? std::string(1, c)
                    : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return "./" + out;
}

/// The name of a run, as a link to its report where it has one.
std::string linked_name(const RunRecord& run, const fs::path& page_folder) {
  const fs::path report = fs::path(run.path) / "report/index.html";
  std::error_code ignored;
  if (!fs::is_regular_file(report, ignored)) return escape_html(run.name);
  return fmt::format("<a href=\"{}\">{}</a>", address(report, page_folder), escape_html(run.name));
}

std::string facts_table(const std::vector<RunRecord>& runs,
                        const std::vector<ConfigDifference>& differences,
                        const fs::path& page_folder) {
  std::string out = "<h2>Runs</h2><div class=\"card scroll\"><table><thead><tr>" +
                    cells("th", {"run", "started", "steps", "loss", "checkpoint", "differs in"}) +
                    "</tr></thead><tbody>";
  const std::vector<std::string> own = own_values(differences, runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunRecord& run = runs[i];
    out += "<tr><th scope=\"row\">" + linked_name(run, page_folder) + "</th>" +
           cells("td", {started_text(run), steps_text(run), last_loss_text(run),
                        run.checkpoint.empty() ? "-" : run.checkpoint, own[i]}) +
           "</tr>";
  }
  return out + "</tbody></table></div>";
}

/// One chart for each metric of several runs.
Json curves_of(const std::vector<RunRecord>& runs) {
  Json curves = Json::array();
  for (const RunRecord& run : runs) {
    for (const Curve& curve : read_curves(run.metrics_path())) {
      Json json = curve_json(curve);
      if (runs.size() > 1) {
        json["chart"] =
            curve.validation.empty() ? curve.name : curve.name + " (" + curve.validation + ")";
        json["label"] = run.name;
      }
      curves.push_back(json);
    }
  }
  return curves;
}

}  // namespace

void write_runs_page(const std::vector<RunRecord>& runs, const RunsPage& what,
                     const std::string& path) {
  std::string title;
  for (const RunRecord& run : runs) title += (title.empty() ? "" : ", ") + run.name;
  const std::string refresh =
      what.refresh_s > 0
          ? fmt::format("<meta http-equiv=\"refresh\" content=\"{}\">", what.refresh_s)
          : "";
  std::string page = fmt::format(
      "{0}{1}<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<title>{2}</title><style>{3}</style></head><body>"
      "<header><div class=\"title\"><h1>{2}</h1></div></header><main>",
      kBegin, refresh, escape_html(title), report_file("style.css"));
  for (const std::string& text : what.sentences) page += "<p>" + escape_html(text) + "</p>\n";
  const std::vector<ConfigDifference> differences = config_differences(runs);
  page += facts_table(runs, differences, fs::absolute(path).parent_path());
  page += table("Configuration", runs, differences);
  page += table("Program", runs, program_differences(runs));
  page += "<section id=\"curves\" aria-label=\"Training curves\"></section></main>\n";
  page += "<script type=\"application/json\" id=\"report-data\">" +
          html_safe({{"curves", curves_of(runs)}}) + "</script>\n<script>\n";
  page.append(report_file("dom.js")).append(report_file("curves.js"));
  page += "renderCurves(embeddedJson(\"report-data\"));\n</script></body></html>\n";
  write_file_atomically(path, page);
}

void require_own_page(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path, ignored))) return;
  try {
    if (read_small_file(path).starts_with(kBegin)) return;
  } catch (const std::system_error&) {
    // Neither is what cannot be read.
  }
  throw exists_error(path);
}

}  // namespace s2s::run
