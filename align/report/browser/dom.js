// Making and finding elements. Text of sentences only ever becomes text nodes and attribute values.

const SVG = "http://www.w3.org/2000/svg";

function byId(id) {
  return document.getElementById(id);
}

// make("td", {class: "n", title: null}, "text", child): attributes that are null or false are left out.
function make(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function draw(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children);
  return element;
}

// The sign of a kind of link, the same in the list, the legend, the lines and the matrix.
function mark(kind, attributes = {}) {
  return draw("svg", {class: `mark ${kind}`, "aria-hidden": "true", viewBox: "0 0 16 16", ...attributes},
    draw("use", {href: `#mark-${kind}`}));
}

function percent(value) {
  return value === null || value === undefined ? "n/a" : `${(100 * value).toFixed(1)} %`;
}

// A token of nothing but spaces, control and format characters would not be seen: it is named instead.
function visible(text) {
  if (!/^[\s\p{C}]*$/u.test(text)) return text;
  const code = (each) => each.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  return [...text].map((each) => `U+${code(each)}`).join(" ") || "(empty)";
}

function decimal(value, digits = 2) {
  return value === null || value === undefined ? "–" : value.toFixed(digits);
}

// The name of a language in English where the browser knows it, else its code.
function languageName(code) {
  try {
    return new Intl.DisplayNames(["en"], {type: "language"}).of(code) || code;
  } catch {
    return code;
  }
}
