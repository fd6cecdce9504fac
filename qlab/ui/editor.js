// The editor of a case: every tensor's entries as text fields, sent to the server as they were typed.
// data: {groups: [{title, outputs, tensors: [{name, role, sign, dtype, shape, cells, …}], attributes: [...]}]}
// events: text {tensor, flat, text} · step {tensor, flat, by} · attribute {node, name, text} · open {tensor}

function element(tag, css, text) {
  const made = document.createElement(tag);
  if (css) made.className = css;
  if (text !== undefined) made.textContent = text;
  return made;
}

// What the form is made of apart from texts: only where this changes are the fields built anew, so that the one
// that has the keyboard keeps it.
function structure(data) {
  return JSON.stringify(
    data.groups.map((g) => [
      g.title,
      g.outputs,
      g.tensors.map((t) => [t.name, t.dtype, t.shape, t.cells ? t.cells.length : t.summary, t.role]),
      g.attributes.map((a) => [a.node, a.name]),
    ])
  );
}

function field(root, key) {
  return root.querySelector(`[data-field="${CSS.escape(key)}"]`);
}

function makeInput(root, key, label, css, commit, step) {
  const input = element("input", css);
  input.type = "text";
  input.dataset.field = key;
  input.spellcheck = false;
  input.autocomplete = "off";
  input.setAttribute("aria-label", label);
  const send = () => {
    if (input.value !== input.dataset.sent) {
      input.dataset.sent = input.value;
      commit(input.value);
    }
  };
  input.addEventListener("change", send);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") send();
    if (event.key === "Escape") input.value = input.dataset.sent;
    if (step && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      event.preventDefault();
      send();
      step(event.key === "ArrowUp" ? 1 : -1);
    }
    event.stopPropagation(); // Streamlit binds r, c and Esc
  });
  return input;
}

function buildTensor(root, tensor, emit) {
  const row = element("div", "tensor");
  const head = element("div", "head");
  const sign = element("span", `sign r-${tensor.role}`, tensor.sign);
  sign.setAttribute("aria-hidden", "true");
  const name = element("span", `name r-${tensor.role}`, tensor.name);
  const kind = element("span", "kind", tensor.dtype + (tensor.shape.length ? ` [${tensor.shape.join(",")}]` : ""));
  head.append(sign, name, kind);
  row.append(head);
  if (!tensor.cells) {
    const summary = element("span", "summary", tensor.summary);
    const open = element("button", "open", "Edit…");
    open.type = "button";
    open.setAttribute("aria-label", `Edit ${tensor.name}`);
    open.addEventListener("click", () => emit("open", { tensor: tensor.name }));
    row.append(summary, open);
    return row;
  }
  let active = 0;
  const stepBy = (by) => emit("step", { tensor: tensor.name, flat: active, by });
  if (tensor.cells.length) {
    const unit = tensor.float ? "float" : "code";
    const steppers = element("span", "steppers");
    for (const [text, by, words] of [["−", -1, "previous"], ["+", 1, "next"]]) {
      const button = element("button", "", text);
      button.type = "button";
      button.title = `${words} ${tensor.float ? tensor.dtype : unit}`;
      button.setAttribute("aria-label", `${tensor.name}: ${words} ${tensor.float ? tensor.dtype : unit}`);
      button.addEventListener("click", () => stepBy(by));
      steppers.append(button);
    }
    head.append(steppers);
  }
  const grid = element("div", "fields");
  const labelled = tensor.rows.length > 0;
  const wide = tensor.float ? "6.2rem" : "3.1rem";
  const columns = Math.min(tensor.columns, 8);
  grid.style.gridTemplateColumns = `${labelled ? "auto " : ""}repeat(${columns}, minmax(0, ${tensor.cells.length === 1 ? "9rem" : wide}))`;
  tensor.cells.forEach((cell, flat) => {
    if (labelled && flat % tensor.columns === 0) grid.append(element("span", "rowname", tensor.rows[flat / tensor.columns]));
    const input = makeInput(
      root,
      `${tensor.name}[${flat}]`,
      `${cell.label} ${tensor.dtype}`,
      "cell",
      (text) => emit("text", { tensor: tensor.name, flat, text }),
      (by) => {
        active = flat;
        stepBy(by);
      }
    );
    input.addEventListener("focus", () => {
      active = flat;
      const stored = row.querySelector(".stored");
      if (stored) stored.textContent = input.dataset.stored || "";
    });
    grid.append(input);
  });
  if (!tensor.cells.length) grid.append(element("span", "summary", "no entries"));
  row.append(grid);
  if (tensor.float) row.append(element("div", "stored"));
  const error = element("div", "error");
  error.id = `error-${tensor.name}`;
  error.setAttribute("role", "status");
  row.append(error);
  return row;
}

function build(root, data, emit) {
  root.replaceChildren();
  for (const group of data.groups) {
    const section = element("section", "group");
    const heading = element("h3", "", group.title);
    if (group.outputs) heading.append(element("small", "", ` → ${group.outputs}`));
    section.append(heading);
    for (const tensor of group.tensors) {
      const row = buildTensor(root, tensor, emit);
      row.dataset.tensor = tensor.name;
      section.append(row);
    }
    if (group.attributes.length) {
      const details = element("details", "attributes");
      details.append(element("summary", "", "Attributes"));
      for (const attribute of group.attributes) {
        const key = `${attribute.node}.${attribute.name}`;
        const line = element("label", "attribute");
        line.append(element("span", "", attribute.name));
        const input = makeInput(root, key, `${group.title} ${attribute.name}`, "value", (text) =>
          emit("attribute", { node: attribute.node, name: attribute.name, text })
        );
        input.placeholder = "absent";
        line.append(input);
        const error = element("div", "error");
        error.dataset.error = key;
        error.setAttribute("role", "status");
        details.append(line, error);
      }
      section.append(details);
    }
    root.append(section);
  }
}

function setText(input, text, wrong) {
  // A text that was typed and not yet sent stays: the answer to an older edit must not eat it.
  const typing = input === input.getRootNode().activeElement && input.value !== input.dataset.sent;
  if (!typing) input.value = text;
  if (!typing) input.dataset.sent = text;
  input.classList.toggle("wrong", wrong);
  input.setAttribute("aria-invalid", wrong ? "true" : "false");
}

function fill(root, data) {
  for (const group of data.groups) {
    for (const tensor of group.tensors) {
      const row = root.querySelector(`[data-tensor="${CSS.escape(tensor.name)}"]`);
      if (!row || !tensor.cells) continue;
      tensor.cells.forEach((cell, flat) => {
        const input = field(root, `${tensor.name}[${flat}]`);
        setText(input, cell.text, Boolean(cell.wrong));
        input.dataset.stored = cell.stored;
        input.title = cell.stored;
        if (cell.wrong) input.setAttribute("aria-describedby", `error-${tensor.name}`);
      });
      const stored = row.querySelector(".stored");
      if (stored) {
        const focused = root.activeElement || root.getRootNode().activeElement;
        const shown = focused && row.contains(focused) && focused.dataset.stored ? focused : row.querySelector("input");
        stored.textContent = shown && (tensor.cells.length === 1 || shown === focused) ? shown.dataset.stored : "";
      }
      row.querySelector(".error").textContent = tensor.errors.join("\n");
    }
    for (const attribute of group.attributes) {
      const key = `${attribute.node}.${attribute.name}`;
      setText(field(root, key), attribute.text, Boolean(attribute.error));
      root.querySelector(`[data-error="${CSS.escape(key)}"]`).textContent = attribute.error;
      if (attribute.error) field(root, key).closest("details").open = true;
    }
  }
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  let root = parentElement.querySelector(".editor");
  if (!root) {
    root = element("div", "editor");
    parentElement.append(root);
  }
  root.emit = (kind, detail) => setTriggerValue("edit", { kind, ...detail, at: Date.now() });
  const made = structure(data);
  if (root.made !== made) {
    build(root, data, (kind, detail) => root.emit(kind, detail));
    root.made = made;
  }
  fill(root, data);
}
