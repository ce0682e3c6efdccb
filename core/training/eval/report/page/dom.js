"use strict";
// Small tools to make elements and to write numbers.

/** An element: node("p", {class: "x", onclick: f}, "text", child). Null children are left out. */
function node(tag, attributes, ...children) {
  const svg = ["svg", "path", "line", "text", "g", "circle", "rect", "title"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag)
                      : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

/** The parsed text of a JSON script element, or null when there is none. */
function embeddedJson(id) {
  const element = document.getElementById(id);
  return element ? JSON.parse(element.textContent) : null;
}

function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

/** A number of a unit ("%" means a fraction of one), as a reader likes it. */
function written(value, unit) {
  if (!isNumber(value)) return "\u2013";
  const sign = value < 0 ? "\u2212" : "";
  const size = Math.abs(value);
  if (unit === "%") return sign + (100 * size).toFixed(size < 0.0995 ? 1 : 0) + "\u202f%";
  return sign + (unit === "s" ? size.toFixed(2) + "\u202fs" : size.toFixed(1));
}

/** A number on an axis or in a list: three significant digits, short for very small and large. */
function compact(value) {
  if (!isNumber(value)) return "\u2013";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(1).replace("e+", "e").replace(".0e", "e");
  return String(Number(value.toPrecision(3)));
}

/** Minutes and seconds of a time. */
function clock(seconds) {
  const whole = Math.floor(seconds / 60);
  return whole + ":" + (seconds - 60 * whole).toFixed(1).padStart(4, "0");
}

/** Step of a scale that gives about `count` ticks: 1, 2 or 5 times a power of ten. */
function niceStep(range, count) {
  const rough = range / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
}
