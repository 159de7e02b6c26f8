// Builds elements. Text always becomes a text node, so that no name or body can become markup.

export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (["value", "checked", "disabled", "selected", "indeterminate"].includes(name))
      element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

// Changes the text only if it differs: a live page must not disturb a selection.
// Fills a cell; if its link or button had the focus, the new one has it.
function refill(cell, value) {
  const focused = cell.contains(document.activeElement);
  fill(cell, value);
  if (focused) cell.querySelector("a, button, input")?.focus({ preventScroll: true });
}

export function setText(element, text) {
  const wanted = String(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

// Makes these elements the children, in this order. One that stays keeps the focus.
export function arrange(parent, elements) {
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  const wanted = new Set(elements);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  let place = parent.firstElementChild;
  for (const element of elements) {
    if (element === place) place = place.nextElementSibling;
    else parent.insertBefore(element, place);
  }
  if (focused?.isConnected) focused.focus({ preventScroll: true });
}

// A table whose rows stay the same elements while their figures change.
// columns: {key, label, number, cell(row) -> text or node, sort}
export class LiveTable {
  constructor({ caption, columns, keyOf, empty, sorted, onSort }) {
    this.columns = columns;
    this.keyOf = keyOf;
    this.rows = new Map();
    this.heads = new Map();
    this.onSort = onSort;
    this.body = h("tbody");
    this.empty = h("p", { class: "empty", hidden: true }, empty);
    const head = h("tr", {}, columns.map((column) => this.head(column)));
    this.table = h("table", {}, h("caption", { class: "hidden" }, caption),
      h("thead", {}, head), this.body);
    const frame = h("div", { class: "frame", tabindex: "0", role: "region", "aria-label": caption },
      this.table);
    this.element = h("div", {}, frame, this.empty);
    if (sorted) this.showSort(...sorted);
  }

  head(column) {
    const label = column.sort
      ? h("button", { type: "button", class: "sort", onclick: () => this.sortBy(column.sort) },
        column.label, h("span", { class: "arrow", "aria-hidden": "true" }))
      : column.label;
    const cell = h("th", { scope: "col", class: column.number ? "number" : null }, label);
    if (column.sort) this.heads.set(column.sort, cell);
    return cell;
  }

  sortBy(name) {
    const first = name === "name" ? "up" : "down";
    const order = this.sort === name ? (this.order === "up" ? "down" : "up") : first;
    this.showSort(name, order);
    this.onSort(name, order);
  }

  showSort(name, order) {
    this.sort = name;
    this.order = order;
    for (const [key, cell] of this.heads) {
      if (key === name) cell.setAttribute("aria-sort", order === "up" ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    }
  }

  show(rows) {
    this.empty.hidden = rows.length > 0;
    this.table.parentElement.hidden = rows.length === 0;
    const seen = new Map(rows.map((row) => {
      const key = this.keyOf(row);
      const known = this.rows.get(key) ?? this.added();
      this.update(known, row);
      return [key, known];
    }));
    this.rows = seen;
    arrange(this.body, [...seen.values()].map((known) => known.element));
  }

  added() {
    const cells = this.columns.map((column) =>
      h(column.head ? "th" : "td", {
        scope: column.head ? "row" : null,
        class: column.number ? "number" : column.class,
      }));
    return { element: h("tr", {}, cells), cells, shown: [] };
  }

  update(known, row) {
    this.columns.forEach((column, index) => {
      const value = column.cell(row);
      if (value instanceof Node) {
        // An element is made again only if what it shows has changed.
        const mark = column.mark ? column.mark(row) : value.outerHTML;
        if (known.shown[index] !== mark) refill(known.cells[index], value);
        known.shown[index] = mark;
      } else setText(known.cells[index], value ?? "");
    });
  }
}

export function field(label, input, hint) {
  const id = input.id || `f${Math.random().toString(36).slice(2)}`;
  input.id = id;
  const note = hint ? h("span", { class: "hint", id: `${id}-hint` }, hint) : null;
  if (note) input.setAttribute("aria-describedby", note.id);
  return h("div", { class: "field" }, h("label", { for: id }, label), input, note);
}
