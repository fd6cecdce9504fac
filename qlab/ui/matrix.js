// Releases × columns. One cell is in the tab order; arrow keys move, Enter or a click picks.
// data: see qlab/views/versions_page.py. state: pick {version, column}

function element(tag, css, text) {
  const made = document.createElement(tag);
  if (css) made.className = css;
  if (text !== undefined) made.textContent = text;
  return made;
}

function draw(root) {
  const { data } = root;
  const active = root.getRootNode().activeElement;
  const focused = active && root.contains(active) ? active.dataset.at : "";
  const scroll = root.querySelector(".scroll");
  const left = scroll ? scroll.scrollLeft : 0;
  const table = element("table");
  table.setAttribute("role", "grid");
  table.setAttribute("aria-label", data.label);
  const head = element("tr");
  head.append(element("td"));
  for (const column of data.columns) {
    const th = element("th", "", column.short);
    th.scope = "col";
    th.title = column.label;
    head.append(th);
  }
  const thead = element("thead");
  thead.append(head);
  const body = element("tbody");
  for (const row of data.rows) {
    const line = element("tr");
    const name = element("th", row.mark ? "changed" : "", row.label);
    name.scope = "row";
    if (row.mark) name.append(element("small", "", ` ${row.mark}`));
    line.append(name);
    row.cells.forEach((cell, k) => {
      const made = element("td", cell ? `s-${cell.state}` : "waiting", cell ? undefined : "…");
      made.setAttribute("role", "gridcell");
      if (cell) {
        made.dataset.at = `${row.version} ${k}`;
        made.tabIndex = -1;
        const sign = element("span", "sign", cell.sign);
        sign.setAttribute("aria-hidden", "true");
        made.append(sign, element("span", "", ` ${cell.words}`));
        made.setAttribute("aria-label", `${row.label} ${data.columns[k].label}: ${cell.words}`);
        if (made.dataset.at === data.picked) {
          made.classList.add("picked");
          made.setAttribute("aria-selected", "true");
        }
      }
      line.append(made);
    });
    body.append(line);
  }
  table.append(thead, body);
  const outer = element("div", "scroll");
  outer.append(table);
  root.replaceChildren(outer);
  outer.scrollLeft = left;
  const cells = [...root.querySelectorAll("td[data-at]")];
  const current = cells.find((c) => c.classList.contains("picked")) || cells[0];
  if (current) current.tabIndex = 0;
  const again = focused && cells.find((c) => c.dataset.at === focused);
  if (again) {
    again.tabIndex = 0;
    again.focus({ preventScroll: true });
  }
}

function next(root, from, key) {
  const line = from.parentElement;
  const column = [...line.children].indexOf(from);
  if (key === "ArrowLeft") return line.children[column - 1];
  if (key === "ArrowRight") return line.children[column + 1];
  const other = key === "ArrowUp" ? line.previousElementSibling : line.nextElementSibling;
  return other && other.children[column];
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  let root = parentElement.querySelector(".matrix");
  if (!root) {
    root = element("div", "matrix");
    parentElement.append(root);
    const pick = (target) => {
      const [version, column] = target.dataset.at.split(" ");
      root.send({ version, column: Number(column), at: Date.now() });
    };
    root.addEventListener("click", (event) => {
      const target = event.target.closest("td[data-at]");
      if (!target) return;
      target.focus({ preventScroll: true });
      pick(target);
    });
    root.addEventListener("keydown", (event) => {
      const target = event.target.closest("td[data-at]");
      if (!target) return;
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        pick(target);
      } else if (event.key.startsWith("Arrow")) {
        event.preventDefault();
        const other = next(root, target, event.key);
        if (other && other.dataset.at) {
          target.tabIndex = -1;
          other.tabIndex = 0;
          other.focus();
        }
      }
      event.stopPropagation();
    });
  }
  root.send = (value) => setTriggerValue("pick", value);
  root.data = data;
  draw(root);
}
