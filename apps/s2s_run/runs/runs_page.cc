#include "s2s_run/runs/runs_page.h"

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/text.h"
#include "eval/report/report_files.h"
#include "eval/report/report_json.h"
#include "eval/report/training_curves.h"

namespace s2s::run {
namespace {

using Json = nlohmann::ordered_json;

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

/// One chart for each metric; a metric of a single run has one, too.
Json curves_of(const std::vector<RunRecord>& runs) {
  Json curves = Json::array();
  for (const RunRecord& run : runs) {
    for (const Curve& curve : read_curves(run.metrics_path())) {
      Json json = curve_json(curve);
      json["chart"] =
          curve.validation.empty() ? curve.name : curve.name + " (" + curve.validation + ")";
      json["label"] = run.name;
      curves.push_back(json);
    }
  }
  return curves;
}

}  // namespace

void write_runs_page(const std::vector<RunRecord>& runs, const std::vector<std::string>& partings,
                     const std::string& path) {
  std::string title;
  for (const RunRecord& run : runs) title += (title.empty() ? "" : ", ") + run.name;
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<title>{0}</title><style>{1}</style></head><body>"
      "<header><div class=\"title\"><h1>{0}</h1></div></header><main>",
      escape_html(title), report_file("style.css"));
  for (const std::string& text : partings) page += "<p>" + escape_html(text) + "</p>\n";
  page += table("Configuration", runs, config_differences(runs));
  page += table("Program", runs, program_differences(runs));
  page += "<section id=\"curves\" aria-label=\"Training curves\"></section></main>\n";
  page += "<script type=\"application/json\" id=\"report-data\">" +
          html_safe({{"curves", curves_of(runs)}}) + "</script>\n<script>\n";
  page.append(report_file("dom.js")).append(report_file("curves.js"));
  page += "renderCurves(embeddedJson(\"report-data\"));\n</script></body></html>\n";
  write_file_atomically(path, page);
}

}  // namespace s2s::run
