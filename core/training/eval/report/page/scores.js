// The head of the page and the tables of scores.

function themeButton() {
  const themes = ["auto", "light", "dark"];
  const root = document.documentElement;
  const stored = () => {
    try {
      return localStorage.getItem("s2s-theme") || "auto";
    } catch (error) {
      return "auto";  // a page from a file may have no storage
    }
  };
  const button = node("button", {type: "button", class: "quiet"});
  const show = (theme) => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    button.textContent = "Theme: " + theme;
  };
  let theme = themes.includes(stored()) ? stored() : "auto";
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try {
      localStorage.setItem("s2s-theme", theme);
    } catch (error) {
      // only this visit then
    }
    show(theme);
  });
  show(theme);
  return button;
}

function numberOfDialogues(count) {
  if (count === 1) return "One dialogue";
  return (count === 0 ? "No" : count) + " dialogues";
}

function renderHead(data, numExamples) {
  const facts = data.facts.map(([name, value]) =>
      node("div", {}, node("dt", {}, name), node("dd", {}, value)));
  document.getElementById("head").append(
      node("div", {class: "title"}, node("h1", {}, data.title), themeButton()),
      node("p", {class: "lead"}, numberOfDialogues(numExamples),
           " to hear: the user, what the model answered, what it should have answered, and what ",
           "the codec makes of that at best."),
      facts.length ? node("dl", {class: "facts"}, facts) : null);
}

/** The first column is the model's own and stands out. */
function scoreCell(row, value, column) {
  return node("td", {class: column === 0 ? "main number" : "number"}, written(value, row.unit));
}

function scoreTable(table) {
  const arrow = {higher: " \u2191", lower: " \u2193", "": ""};
  const spoken = {higher: "higher is better", lower: "lower is better", "": ""};
  const head = node("tr", {}, node("th", {scope: "col"}, "score"),
                    table.columns.map((name, i) =>
                        node("th", {scope: "col", class: i === 0 ? "main number" : "number"},
                             name)));
  const body = table.rows.map((row) => node("tr", {},
      node("th", {scope: "row"}, row.label,
           node("span", {class: "arrow", "aria-label": spoken[row.better] || null,
                         title: spoken[row.better] || null}, arrow[row.better]),
           row.hint ? node("span", {class: "hint"}, row.hint) : null),
      row.cells.map((value, i) => scoreCell(row, value, i))));
  return node("div", {class: "card scroll"},
              node("table", {class: "scores"}, node("caption", {}, table.title),
                   node("thead", {}, head), node("tbody", {}, body)));
}

function renderScores(data) {
  const section = document.getElementById("scores");
  if (!data.tables.length) {
    section.append(node("p", {class: "note"}, "No scores: no example was validated."));
    return;
  }
  section.append(node("h2", {}, "Scores"),
                 node("div", {class: "tables"}, data.tables.map(scoreTable)),
                 ...data.notes.map((text) => node("p", {class: "note"}, text)));
}
