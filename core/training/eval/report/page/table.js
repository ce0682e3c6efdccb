// The table of examples: sorted, filtered, opened.

/** The text a row is judged by: what was heard, else what was written. */
function judged(example) {
  return example.texts.model || example.texts.text_channel || null;
}

function mainLatency(example) {
  const latencies = (example.answers || []).map(([, latency]) => latency);
  return latencies.length ? latencies.reduce((a, b) => Math.max(a, b)) : null;
}

const kColumns = [
  {key: "index", label: "#", value: (e) => e.index},
  {key: "id", label: "id", value: (e) => e.id},
  {key: "set", label: "data set", value: (e) => e.set},
  {key: "reference", label: "reference \u2192 answer", value: (e) => e.reference},
  {key: "wer", label: "WER", number: true, value: (e) => judged(e) ? judged(e).wer : null},
  {key: "bleu", label: "BLEU", number: true, value: (e) => judged(e) ? judged(e).bleu : null},
  {key: "latency", label: "latency", number: true, value: mainLatency},
  {key: "findings", label: "findings", value: (e) => e.findings.length},
];

/** Larger values first for what one looks for; texts from A to Z. */
const kDownFirst = new Set(["wer", "latency", "findings", "badness"]);

class ExampleTable {
  constructor(examples, data) {
    this.examples = examples.map((example, index) => Object.assign(example, {index}));
    this.data = data;
    this.sort = {key: "badness", down: true};
    this.open = new Map();
    this.sets = [...new Set(examples.map((e) => e.set))];
    this.columns = kColumns.filter((c) => c.key !== "set" || this.sets.length > 1);
    this.body = node("tbody", {});
    this.count = node("p", {class: "count", role: "status"});
    this.heads = this.columns.map((column) => this.head(column));
    this.filters = this.makeFilters();
  }

  head(column) {
    const button = node("button", {type: "button", class: "sort",
                                   onclick: () => this.sortBy(column.key)}, column.label);
    return node("th", {scope: "col", class: column.number ? "number" : null}, button);
  }

  makeFilters() {
    const update = () => this.update();
    this.search = node("input", {type: "search", placeholder: "words or id", oninput: update});
    const findings = [...new Set(this.examples.flatMap((e) => e.findings))];
    const number = (f) => this.examples.filter((e) => e.findings.includes(f)).length;
    this.finding = node("select", {onchange: update}, node("option", {value: ""}, "all"),
        node("option", {value: "none"}, "nothing to complain about"),
        findings.map((f) => node("option", {value: f}, f + " (" + number(f) + ")")));
    this.set = node("select", {onchange: update}, node("option", {value: ""}, "all"),
                    this.sets.map((s) => node("option", {value: s}, s)));
    const worst = node("button", {type: "button", class: "quiet",
                                  onclick: () => this.sortBy("badness")}, "Worst first");
    return node("div", {class: "filters", role: "search"},
        node("label", {}, "Search ", this.search), node("label", {}, "Show ", this.finding),
        this.sets.length > 1 ? node("label", {}, "Data set ", this.set) : null, worst);
  }

  sortBy(key) {
    const same = this.sort.key === key && key !== "badness";
    this.sort = {key, down: same ? !this.sort.down : kDownFirst.has(key)};
    this.update();
  }

  matches(example) {
    const words = this.search.value.trim().toLowerCase();
    const texts = Object.values(example.texts).map((text) => text.raw).join(" ");
    const turns = example.turns.map((turn) => turn.text).join(" ");
    const all = [example.id, example.reference, texts, turns].join(" ").toLowerCase();
    if (words && !all.includes(words)) return false;
    if (this.set.value && example.set !== this.set.value) return false;
    const finding = this.finding.value;
    if (finding === "none") return example.findings.length === 0;
    return !finding || example.findings.includes(finding);
  }

  sorted(examples) {
    const column = kColumns.find((c) => c.key === this.sort.key) || {value: (e) => e.badness};
    const sign = this.sort.down ? -1 : 1;
    return examples.slice().sort((a, b) => {
      const x = column.value(a);
      const y = column.value(b);
      if (x === null || y === null) return (x === null) - (y === null);  // unknown comes last
      if (typeof x === "string") return sign * x.localeCompare(y) || a.index - b.index;
      return sign * (x - y) || a.index - b.index;
    });
  }

  cell(column, example) {
    const value = column.value(example);
    const attributes = {class: column.number ? "number" : column.key, "data-label": column.label};
    if (column.key === "reference") return node("td", attributes, this.words(example));
    if (column.key === "findings") {
      return node("td", attributes,
                  example.findings.map((f) => node("span", {class: "chip"}, f)));
    }
    if (column.key === "id") {
      return node("td", attributes, node("button", {type: "button", class: "open"}, value));
    }
    const unit = {wer: "%", latency: "s"}[column.key];
    return node("td", attributes, column.number ? written(value, unit || "") : String(value));
  }

  words(example) {
    const text = judged(example);
    if (text) return differences(text.edits);
    return [node("span", {}, example.reference)];
  }

  row(example) {
    const open = this.open.get(example.index);
    const row = node("tr", {class: open ? "row opened" : "row", id: "e" + example.index,
                            onclick: () => this.toggle(example)},
                     this.columns.map((column) => this.cell(column, example)));
    row.querySelector("button.open").setAttribute("aria-expanded", String(Boolean(open)));
    return open ? [row, open.row] : [row];
  }

  toggle(example) {
    const open = this.open.get(example.index);
    if (open) {
      open.view.close();
      this.open.delete(example.index);
    } else {
      const view = detail(example, example.index, this.data);
      const cell = node("td", {colspan: this.columns.length}, view.element);
      this.open.set(example.index, {view, row: node("tr", {class: "opened-detail"}, cell)});
    }
    const row = document.getElementById("e" + example.index);
    if (row.nextSibling && row.nextSibling.className === "opened-detail") row.nextSibling.remove();
    const fresh = this.row(example);
    const focused = row.contains(document.activeElement);
    row.replaceWith(...fresh);
    if (focused) fresh[0].querySelector("button.open").focus();
    const now = this.open.get(example.index);
    if (now) now.view.ready();
  }

  openFirst() {
    const [first] = this.sorted(this.examples);
    if (first) this.toggle(first);
  }

  update() {
    const shown = this.sorted(this.examples.filter((e) => this.matches(e)));
    this.columns.forEach((column, i) => {
      const active = column.key === this.sort.key;
      const order = this.sort.down ? "descending" : "ascending";
      this.heads[i].setAttribute("aria-sort", active ? order : "none");
    });
    this.body.replaceChildren(...shown.flatMap((example) => this.row(example)));
    this.count.textContent = shown.length === this.examples.length
        ? this.examples.length + " examples" + (this.sort.key === "badness" ? ", worst first" : "")
        : shown.length + " of " + this.examples.length + " examples";
  }

  render(section) {
    section.append(node("h2", {}, "Examples"));
    if (!this.examples.length) {
      section.append(node("p", {class: "note"}, "No examples were validated."));
      return;
    }
    section.append(this.filters, this.count, node("div", {class: "card"},
        node("table", {class: "examples"},
             node("thead", {}, node("tr", {}, this.heads)), this.body)));
    this.update();
  }
}
