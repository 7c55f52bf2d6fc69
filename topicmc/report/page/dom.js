"use strict";

// Elements and numbers. Text enters the page as text nodes only, so no word or title is markup.

const data = JSON.parse(document.getElementById("data").textContent);
const { one, many } = data.terms; // what the page calls its parts: topics, or groups of documents
const capital = (text) => text[0].toUpperCase() + text.slice(1);
const One = capital(one);
const byId = (id) => document.getElementById(id);

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const html = (name, attributes = {}, ...children) =>
  build(document.createElement(name), attributes, children);

const svg = (name, attributes = {}, ...children) =>
  build(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

/** In place of a figure that the samples cannot carry. */
const UNTOLD = "cannot be told";

const brief = (word) => (word.length > 20 ? `${word.slice(0, 19)}…` : word);

const unseen = (text) => html("span", { class: "unseen" }, text);

const rounded = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

const number = (value) =>
  Math.abs(value) >= 1000 ? whole.format(value) : rounded.format(value);

/** A probability times 100, to three digits that matter but no more than three decimals. */
function hundredths(p) {
  const value = 100 * p;
  if (value !== 0 && value < 0.001) return "< 0.001";
  return value === 0 ? "0" : value.toFixed(value >= 10 ? 1 : value >= 1 ? 2 : 3);
}

const percent = (p) => `${hundredths(p)}\u00a0%`;
const wholePercent = (p) => `${Math.round(100 * p)}\u00a0%`;
/** The level of the intervals as it was given, not rounded. */
const levelOf = ({ level }) => `${Number((100 * level).toPrecision(6))}\u00a0%`;
const interval = (low, high) =>
  high < 1e-5 ? percent(high) : `${hundredths(low < 1e-5 ? 0 : low)} – ${percent(high)}`;

function duration(seconds) {
  const [unit, name] = seconds < 100 ? [1, "s"] : seconds < 6000 ? [60, "min"] : [3600, "h"];
  return `${short.format(seconds / unit)} ${name}`;
}

/** Draws into an element now and whenever its width changes: draw(width in pixels). */
function whenResized(element, draw) {
  let width = 0;
  new ResizeObserver(() => {
    const now = Math.floor(element.clientWidth);
    if (now > 0 && now !== width) draw((width = now));
  }).observe(element);
}
