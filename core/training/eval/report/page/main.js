// Puts the page together.

(function main() {
  const data = embeddedJson("report-data");
  const examples = embeddedJson("report-examples");
  renderHead(data, examples.length);
  renderScores(data);
  renderCurves(data);
  const table = new ExampleTable(examples, data);
  table.render(document.getElementById("examples"));

  /** "#e12" opens example 12. */
  function openLinked() {
    const match = /^#e(\d+)$/.exec(location.hash);
    const example = match && examples[Number(match[1])];
    if (!example || table.open.has(example.index)) return Boolean(example);
    table.toggle(example);
    document.getElementById("e" + example.index).scrollIntoView();
    return true;
  }
  window.addEventListener("hashchange", openLinked);
  // The audio and pictures stand behind this script. A page that links nowhere opens its first
  // example, so that there is something to play without a search for it.
  document.addEventListener("DOMContentLoaded", () => {
    if (!openLinked()) table.openFirst();
  });
})();
