// Builds elements. Text is always set as text: nothing here reads markup.

/** Properties that are set on the element instead of as an attribute. */
const PROPERTIES = new Set(["value", "checked", "disabled", "hidden", "selected", "open", "multiple", "tabIndex"]);

/** Attributes that never come from a caller: they would load or run something. */
const REFUSED = /^(on|srcdoc$|style$|formaction$)/i;

/**
 * Makes an element. `attributes` may have `class`, `on` (an object of listeners), properties such as
 * `value`, and attributes; null and false leave one out. Children are nodes, texts, or arrays of both.
 */
export function h(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  apply(node, attributes);
  add(node, children);
  return node;
}

/** As `h`, for SVG. */
export function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  apply(node, attributes);
  add(node, children);
  return node;
}

function apply(node, attributes) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (PROPERTIES.has(name)) {
      node[name] = value;
    } else if (REFUSED.test(name)) {
      throw new Error(`attribute ${name} is not set here`);
    } else {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

/** Appends children to a node. */
export function add(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

/** Replaces what a node holds. */
export function fill(node, ...children) {
  node.replaceChildren();
  return add(node, ...children);
}

let last = 0;

/** An id that no other element of the page has. */
export function freshId(word) {
  last += 1;
  return `${word}-${last}`;
}

/** A label with its control below, and a hint that the control is described by. */
export function field(label, control, hint, extra) {
  control.id ||= freshId("field");
  const described = hint ? h("p", { class: "hint", id: `${control.id}-hint` }, hint) : null;
  if (described) control.setAttribute("aria-describedby", described.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label, extra), control, described);
}

/** A message about something that went wrong, where it went wrong. */
export function problem(error) {
  const message = error?.message ?? String(error);
  const details = [error?.kind, error?.requestId && `request ${error.requestId}`].filter(Boolean);
  return h("div", { class: "problem", role: "alert" }, h("strong", {}, message),
    details.length ? h("span", { class: "quiet" }, ` (${details.join(", ")})`) : null);
}

/** What stands where nothing is: a sentence, and what to do. */
export function empty(title, ...advice) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title),
    advice.length ? h("p", {}, ...advice) : null);
}

/** A short message at the edge of the page that screen readers hear. */
export function note(text) {
  const place = document.getElementById("notes");
  const message = h("div", { class: "note" }, text);
  place.append(message);
  setTimeout(() => message.remove(), 4000);
}

/** Copies a text, and says so. */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    note(`${what} copied`);
  } catch {
    note(`${what}: ${text}`);
  }
}

/** A button. */
export function button(text, act, attributes = {}) {
  return h("button", { type: "button", ...attributes, on: { click: act } }, text);
}

/** A table with a caption for screen readers. Cells are nodes or texts; `right` names columns of numbers. */
export function table(caption, columns, rows, { right = [], wide = false } = {}) {
  const side = (at) => (right.includes(at) ? "number" : null);
  return h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": caption },
    h("table", { class: wide ? "wide" : null },
      h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, columns.map((name, at) => h("th", { scope: "col", class: side(at) }, name)))),
      h("tbody", {}, rows.map((cells) => h("tr", {},
        cells.map((cell, at) => h("td", { class: [side(at), isLong(cell) ? "long" : null].filter(Boolean).join(" ") || null }, cell)))))));
}

/** Letters of a cell that stands on one line. A longer one is wrapped, at blanks as far as there are some. */
const ONE_LINE = 60;

const isLong = (cell) => typeof cell === "string" && cell.length > ONE_LINE;

/**
 * Tabs: names with functions that fill a panel, of which one shows. A panel is filled when it first
 * shows and kept, so forms keep what was typed into them. Arrow keys move between them.
 */
export function tabs(label, entries, { chosen = 0, onchoose } = {}) {
  const base = freshId("tabs");
  const panel = h("div", { role: "tabpanel", id: `${base}-panel`, class: "panel", tabindex: 0 });
  const list = h("div", { role: "tablist", "aria-label": label, class: "tabs" });
  const buttons = entries.map(([name], at) => h("button", {
    type: "button", role: "tab", id: `${base}-${at}`, "aria-controls": panel.id,
    on: { click: () => choose(at), keydown: (event) => move(event, at) },
  }, name));
  const parts = entries.map(() => null);
  function choose(at, focus = false) {
    buttons.forEach((tab, other) => {
      tab.setAttribute("aria-selected", String(other === at));
      tab.tabIndex = other === at ? 0 : -1;
    });
    if (focus) buttons[at].focus();
    panel.setAttribute("aria-labelledby", buttons[at].id);
    if (!parts[at]) {
      parts[at] = h("div", { class: "part" });
      entries[at][1](parts[at]);
    }
    if (panel.firstChild !== parts[at]) fill(panel, parts[at]);
    onchoose?.(at);
  }
  function move(event, at) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const target = step ? (at + step + buttons.length) % buttons.length
      : { Home: 0, End: buttons.length - 1 }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    choose(target, true);
  }
  add(list, buttons);
  choose(Math.min(chosen, entries.length - 1));
  return h("div", { class: "tabbed" }, list, panel);
}
