// The outputs of all engines and schemes side by side. One cell is in the tab order; arrow keys move, Enter or a
// click picks. data: see qlab/views/outputs.py table_data. state: pick {index, source}

function element(tag, css, text) {
  const made = document.createElement(tag);
  if (css) made.className = css;
  if (text !== undefined) made.textContent = text;
  return made;
}

function sourceHead(source) {
  const head = element("th", `source s-${source.state}`);
  head.scope = "row";
  const sign = element("span", `sign k-${source.kind}`, source.sign);
  sign.setAttribute("aria-hidden", "true");
  head.append(sign, element("span", "who", ` ${source.name}`));
  if (source.note) head.append(element("small", "", ` ${source.note}`));
  return head;
}

function cell(data, source, position, picked) {
  const made = element("td");
  const element_ = data.elements[position];
  const words = source.words ? source.words[position] : "";
  const differs = Boolean(source.differences && source.differences[position]);
  made.dataset.position = position;
  made.dataset.source = source.label;
  made.setAttribute("role", "gridcell");
  made.tabIndex = -1;
  const chosen = element_.index.join() === picked.index.join();
  const text = source.values[position];
  made.append(element("span", "value", text));
  if (source.codes) made.append(element("small", "code", `#${source.codes[position]}`));
  if (differs) made.append(element("span", "mark", `≠ ${words}`));
  made.className = [
    differs ? "differs" : "",
    differs ? (source.differences[position] > 0 ? "above" : "below") : "",
    chosen ? "column" : "",
    chosen && (source.label === picked.source) ? "picked" : "",
  ].join(" ");
  const unit = Math.abs(Number(differs ? source.differences[position] : 0)) === 1 ? data.unit : `${data.unit}s`;
  made.setAttribute(
    "aria-label",
    `${source.name} ${source.note} ${element_.label}: ${text}${differs ? `, differs by ${words} ${unit}` : ""}`
  );
  if (chosen) made.setAttribute("aria-selected", "true");
  return made;
}

function sideBySide(data, picked) {
  const table = element("table", "side");
  table.setAttribute("role", "grid");
  table.setAttribute("aria-label", `${data.name}: every source a row, every element a column`);
  const head = element("tr");
  head.append(element("td", "corner", ""));
  for (const e of data.elements) {
    const th = element("th", e.index.join() === picked.index.join() ? "column" : "", e.label);
    th.scope = "col";
    head.append(th);
  }
  const summary = element("th", "summary", "against exact");
  summary.scope = "col";
  head.append(summary);
  const thead = element("thead");
  thead.append(head);
  const body = element("tbody");
  for (const source of data.sources) {
    const row = element("tr");
    row.append(sourceHead(source));
    if (source.values) data.elements.forEach((_, position) => row.append(cell(data, source, position, picked)));
    else {
      const none = element("td", "message", source.summary);
      none.colSpan = data.elements.length + 1;
      row.append(none);
    }
    if (source.values) row.append(element("td", `summary s-${source.state}`, source.summary));
    body.append(row);
  }
  table.append(thead, body);
  return table;
}

function listOfSources(root, data, picked, shown) {
  const list = element("div", "list");
  list.setAttribute("role", "radiogroup");
  list.setAttribute("aria-label", "Whose output is shown");
  data.sources.forEach((source) => {
    const label = element("label", `s-${source.state}${source.label === shown ? " shown" : ""}`);
    const radio = element("input");
    radio.type = "radio";
    radio.name = "shown";
    radio.value = source.label;
    radio.checked = source.label === shown;
    radio.disabled = !source.values;
    radio.addEventListener("change", () => {
      root.shown = source.label;
      draw(root);
      root.querySelector(`input[value="${CSS.escape(source.label)}"]`).focus();
    });
    const sign = element("span", `sign k-${source.kind}`, source.sign);
    sign.setAttribute("aria-hidden", "true");
    label.append(radio, sign, element("span", "who", ` ${source.name} `), element("small", "", source.note));
    label.append(element("span", "summary", source.summary));
    list.append(label);
  });
  return list;
}

function gridOf(data, source, picked) {
  const table = element("table", "tensor");
  table.setAttribute("role", "grid");
  table.setAttribute("aria-label", `${data.name} by ${source.name} ${source.note}`);
  const body = element("tbody");
  const columns = data.mode === "list" ? 1 : data.columns;
  for (let start = 0; start < data.elements.length; start += columns) {
    const row = element("tr");
    const name = element("th", "", data.elements[start].label);
    name.scope = "row";
    row.append(name);
    for (let k = start; k < Math.min(start + columns, data.elements.length); k++) {
      row.append(cell(data, source, k, picked));
    }
    body.append(row);
  }
  table.append(body);
  return table;
}

// Sources with the same values stand over one grid: who agrees with whom is the answer.
function cards(data, picked) {
  const groups = new Map();
  for (const source of data.sources) {
    const key = source.values ? `${source.values.join("|")}#${(source.codes || []).join("|")}` : "failed";
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(source);
  }
  const all = element("div", "cards");
  for (const [key, sources] of groups) {
    const card = element("section", "card");
    for (const source of sources) {
      const line = element("div", `line s-${source.state}`);
      const sign = element("span", `sign k-${source.kind}`, source.sign);
      sign.setAttribute("aria-hidden", "true");
      line.append(sign, element("span", "who", `${source.name} `));
      if (source.note) line.append(element("small", "", source.note));
      line.append(element("span", "summary", source.summary));
      card.append(line);
    }
    if (key !== "failed") {
      const scroll = element("div", "scroll");
      const shown = sources.find((s) => s.label === picked.source) || sources.find((s) => s.differences) || sources[0];
      scroll.append(gridOf(data, shown, { index: picked.index, source: shown.label === picked.source ? shown.label : "" }));
      card.append(scroll);
    }
    all.append(card);
  }
  return all;
}

function draw(root) {
  const { data } = root;
  const picked = { index: data.picked, source: data.source };
  const scrolled = root.querySelector(".scroll");
  const left = scrolled ? [scrolled.scrollLeft, scrolled.scrollTop] : [0, 0];
  const focused = root.contains(root.getRootNode().activeElement) && root.getRootNode().activeElement.dataset.position;
  const focusedSource = focused ? root.getRootNode().activeElement.dataset.source : "";
  const content = [];
  const scroll = element("div", "scroll");
  if (data.mode === "table") {
    scroll.append(sideBySide(data, picked));
    content.push(scroll);
  } else if (data.mode === "cards") {
    content.push(cards(data, picked));
  } else {
    const usable = data.sources.filter((s) => s.values);
    const asked = usable.find((s) => s.label === root.shown) || usable.find((s) => s.label === data.source);
    const source = asked || usable[0];
    content.push(listOfSources(root, data, picked, source ? source.label : ""));
    if (data.mode === "list") {
      content.push(element("p", "hint", `${data.size.toLocaleString("en")} codes; shown are those that differ.`));
    }
    if (source) scroll.append(gridOf(data, source, { index: picked.index, source: source.label }));
    content.push(scroll);
  }
  root.replaceChildren(...content);
  scroll.scrollLeft = left[0];
  scroll.scrollTop = left[1];
  // One cell of each grid is reached by Tab, the others by arrow keys.
  for (const table of root.querySelectorAll("table")) {
    const current = table.querySelector("td.picked") || table.querySelector("td.column") || table.querySelector("td[data-position]");
    if (current) current.tabIndex = 0;
  }
  const cells = [...root.querySelectorAll("td[data-position]")];
  const again = focused && (cells.find((c) => c.dataset.position === focused && c.dataset.source === focusedSource) ||
    cells.find((c) => c.dataset.position === focused));
  if (again) {
    again.tabIndex = 0;
    again.focus({ preventScroll: true });
  }
}

function move(root, from, key) {
  const row = from.parentElement;
  const within = [...row.querySelectorAll("td[data-position]")];
  const column = within.indexOf(from);
  if (key === "ArrowLeft") return within[column - 1];
  if (key === "ArrowRight") return within[column + 1];
  if (key === "Home") return within[0];
  if (key === "End") return within[within.length - 1];
  let other = row;
  do {
    other = key === "ArrowUp" ? other.previousElementSibling : other.nextElementSibling;
  } while (other && !other.querySelector("td[data-position]"));
  return other && [...other.querySelectorAll("td[data-position]")][column];
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  let root = parentElement.querySelector(".outputs");
  if (!root) {
    root = element("div", "outputs");
    parentElement.append(root);
    const pick = (target) => {
      const e = root.data.elements[Number(target.dataset.position)];
      root.send({ index: e.index, source: target.dataset.source, at: Date.now() });
    };
    root.addEventListener("click", (event) => {
      const target = event.target.closest("td[data-position]");
      if (target) {
        target.focus({ preventScroll: true });
        pick(target);
      }
    });
    root.addEventListener("keydown", (event) => {
      const target = event.target.closest("td[data-position]");
      if (!target) return;
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        pick(target);
      } else if (event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End") {
        event.preventDefault();
        const next = move(root, target, event.key);
        if (next) {
          target.tabIndex = -1;
          next.tabIndex = 0;
          next.focus();
        }
      }
      event.stopPropagation();
    });
  }
  root.send = (value) => setTriggerValue("pick", value);
  root.data = data;
  draw(root);
}
