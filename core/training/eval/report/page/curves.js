// Curves of the training run as SVG.

const kPlot = {width: 460, height: 210, left: 52, right: 12, top: 10, bottom: 26};

/** Which chart a curve belongs to in the page of one run. */
function familyOf(curve) {
  const name = curve.name;
  if (name.endsWith("loss")) return "Loss";
  if (name === "learning_rate") return "Learning rate";
  if (name === "grad_norm") return "Gradient norm";
  if (name.endsWith("bleu")) return "BLEU";
  if (!curve.validation) return name;
  if (/_accuracy_\d+$/.test(name)) return "Accuracy of each codebook";
  if (/accuracy|acc$/.test(name)) return "Accuracy";
  if (/wer|exact/.test(name)) return "Words";
  if (/latency.*_s$/.test(name)) return "Latency (s)";
  if (/rate$|ratio$/.test(name)) return "Turn taking";
  return "Validation: " + name;
}

const kFirstCharts = ["Loss", "BLEU", "Words", "Accuracy", "Turn taking", "Latency (s)",
                      "Learning rate", "Gradient norm", "frames_per_s"];

/** Maps values to a stretch of pixels, linear or logarithmic. */
function scale(low, high, from, to, logarithmic) {
  const map = logarithmic ? Math.log10 : (x) => x;
  const span = map(high) - map(low) || 1;
  return (x) => from + (map(x) - map(low)) / span * (to - from);
}

function ticks(low, high, count, logarithmic) {
  const out = [];
  if (logarithmic) {
    for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
      for (const factor of high / low > 200 ? [1] : [1, 2, 5]) {
        if (factor * power >= low * 0.999 && factor * power <= high * 1.001) {
          out.push(factor * power);
        }
      }
    }
    return out;
  }
  const step = niceStep(high - low, count);
  for (let x = Math.ceil(low / step) * step; x <= high + step * 1e-6; x += step) {
    out.push(Math.abs(x) < step * 1e-6 ? 0 : x);
  }
  return out;
}

/** The ranges and maps of one chart; what falls over decades is drawn logarithmically. */
function axes(title, curves) {
  const steps = curves.flatMap((c) => [c.steps[0], c.steps[c.steps.length - 1]]);
  const values = curves.flatMap((c) => c.values);
  let low = Math.min(...values);
  let high = Math.max(...values);
  const decays = /loss|grad/i.test(title);
  const logarithmic = decays && low > 0 && high / low > 30;
  if (!logarithmic) {
    const margin = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
    low = low >= 0 && low - margin < 0.3 * high ? 0 : low - margin;
    high += margin;
  }
  let first = Math.min(...steps);
  let last = Math.max(...steps);
  if (first === last) {
    first -= 1;
    last += 1;
  }
  return {
    low, high, first, last, logarithmic,
    x: scale(first, last, kPlot.left, kPlot.width - kPlot.right, false),
    y: scale(low, high, kPlot.height - kPlot.bottom, kPlot.top, logarithmic),
  };
}

function grid(axis) {
  const right = kPlot.width - kPlot.right;
  const bottom = kPlot.height - kPlot.bottom;
  const rows = ticks(axis.low, axis.high, 5, axis.logarithmic).map((value) => [
    node("line", {class: "grid", x1: kPlot.left, x2: right, y1: axis.y(value), y2: axis.y(value)}),
    node("text", {x: kPlot.left - 6, y: axis.y(value) + 4, "text-anchor": "end"}, compact(value)),
  ]);
  const columns = ticks(axis.first, axis.last, 6, false).filter(Number.isInteger).map((step) =>
      node("text", {x: axis.x(step), y: bottom + 17, "text-anchor": "middle"}, String(step)));
  return [rows, columns,
          node("line", {class: "axis", x1: kPlot.left, x2: right, y1: bottom, y2: bottom})];
}

function drawnCurve(curve, axis, index) {
  const points = curve.steps.map((step, i) => [axis.x(step), axis.y(curve.values[i])]);
  const path = points.map(([x, y]) => x.toFixed(1) + " " + y.toFixed(1)).join("L");
  const dots = curve.validation || points.length < 3
      ? points.slice(0, 60).map(([x, y]) => node("circle", {cx: x, cy: y, r: 2.6})) : [];
  return node("g", {class: "curve c" + index % 6 + (curve.validation ? " validation" : "")},
              node("path", {d: "M" + path}), dots);
}

function curveName(curve) {
  if (curve.label) return curve.label;
  return curve.validation ? curve.name + " (" + curve.validation + ")" : curve.name;
}

/** Index of the step nearest to `step`. */
function nearest(steps, step) {
  let best = 0;
  for (let i = 1; i < steps.length; ++i) {
    if (Math.abs(steps[i] - step) <= Math.abs(steps[best] - step)) best = i;
  }
  return best;
}

/** Shows the values under the pointer in the chart's legend. */
function followPointer(svg, curves, axis, legendValues) {
  const cross = node("line", {class: "cross", y1: kPlot.top, y2: kPlot.height - kPlot.bottom});
  cross.style.display = "none";
  svg.append(cross);
  const show = (step) => {
    curves.forEach((curve, i) => {
      const at = step === null ? curve.steps.length - 1 : nearest(curve.steps, step);
      legendValues[i].textContent = compact(curve.values[at]);
    });
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * kPlot.width;
    const share = (x - kPlot.left) / (kPlot.width - kPlot.left - kPlot.right);
    if (share < 0 || share > 1) return;
    cross.style.display = "";
    cross.setAttribute("x1", x);
    cross.setAttribute("x2", x);
    show(axis.first + share * (axis.last - axis.first));
  });
  svg.addEventListener("pointerleave", () => {
    cross.style.display = "none";
    show(null);
  });
  show(null);
}

function chart(title, curves) {
  const axis = axes(title, curves);
  const last = curves.map((c) => curveName(c) + " " + compact(c.values[c.values.length - 1]));
  const svg = node("svg", {viewBox: "0 0 " + kPlot.width + " " + kPlot.height, role: "img",
                           "aria-label": title + " over steps; last: " + last.join(", ")},
                   grid(axis), curves.map((curve, i) => drawnCurve(curve, axis, i)));
  const values = curves.map(() => node("b", {}));
  const legend = node("ul", {class: "legend"}, curves.map((curve, i) =>
      node("li", {}, node("span", {class: "key k" + i % 6 + (curve.validation ? " dashed" : "")}),
           curveName(curve), " ", values[i])));
  followPointer(svg, curves, axis, values);
  return node("figure", {class: "card"},
              node("figcaption", {}, title, axis.logarithmic ? " (logarithmic)" : ""), svg, legend);
}

function renderCurves(data) {
  const section = document.getElementById("curves");
  const charts = new Map();
  for (const curve of data.curves) {
    const title = curve.chart || familyOf(curve);  // pages of several runs name the chart
    if (!charts.has(title)) charts.set(title, []);
    charts.get(title).push(curve);
  }
  if (!charts.size) return;
  const place = (title) => kFirstCharts.indexOf(familyOf(charts.get(title)[0]));
  const first = [...charts.keys()].filter((title) => place(title) >= 0)
                    .sort((a, b) => place(a) - place(b));
  const others = [...charts.keys()].filter((title) => place(title) < 0);
  section.append(node("h2", {}, "Training"),
                 node("div", {class: "charts"}, first.map((t) => chart(t, charts.get(t)))));
  if (!others.length) return;
  const title = others.length + (others.length === 1 ? " more curve" : " more curves");
  section.append(node("details", {}, node("summary", {}, title),
                      node("div", {class: "charts"},
                           others.map((t) => chart(t, charts.get(t))))));
}
