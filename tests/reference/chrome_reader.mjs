// node chrome_reader.mjs CATAPULT_TRACE_VIEWER.js TRACE
//
// Reads TRACE with the importer of chrome://tracing (catapult) and prints as JSON how many slices
// its threads have, how many there are of each user's range, and the warnings. The viewer is
// written for a page; its parts are run one by one, so that those that draw may fail.
import fs from "node:fs";
import vm from "node:vm";

const [viewer, trace] = process.argv.slice(2);
const anything = new Proxy(function () {}, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => "" : anything),
  apply: () => anything,
  construct: () => anything,
  set: () => true,
});
const page = { console, setTimeout, clearTimeout, performance, TextDecoder, TextEncoder,
               module: {}, require: () => anything, process: { versions: { node: "20" }, env: {} },
               location: { search: "", hash: "" }, navigator: { userAgent: "" } };
for (const name of ["Polymer", "document", "HTMLImportsLoader", "d3", "JSZip"]) {
  page[name] = anything;
}
for (const name of ["HTMLElement", "HTMLUnknownElement", "HTMLDivElement", "Element"]) {
  page[name] = class {};
}
page.global = page;
vm.createContext(page);

const strict = "'use strict';";
let text = fs.readFileSync(viewer, "utf8");
text = text.slice(text.indexOf(strict + "const global=this.window||this.global;this.tr="));
for (const part of text.split(strict).slice(1)) {
  try {
    vm.runInContext(strict + part.replace(/^const global=/, "var global="), page);
  } catch {
    // It draws.
  }
}
page.text = fs.readFileSync(trace, "utf8");
console.log(vm.runInContext(`
  const model = new tr.Model();
  const options = new tr.importer.ImportOptions();
  options.showImportWarnings = false;
  new tr.importer.Import(model, options).importTraces([text]);
  let slices = 0;
  const ranges = {};
  for (const process of model.getAllProcesses()) {
    for (const thread of Object.values(process.threads)) {
      for (const slice of thread.sliceGroup.slices) {
        ++slices;
        if (slice.category === "user_annotation") {
          ranges[slice.title] = (ranges[slice.title] || 0) + 1;
        }
      }
    }
  }
  JSON.stringify({ slices, ranges, warnings: model.importWarnings.map((w) => w.message) });
`, page));
