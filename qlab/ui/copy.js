// A button that copies a text, or the link of the case. data: {label, text} or {label, query}

export default function (component) {
  const { data, parentElement } = component;
  let button = parentElement.querySelector("button");
  if (!button) {
    button = document.createElement("button");
    button.type = "button";
    const said = document.createElement("span");
    said.setAttribute("role", "status");
    button.addEventListener("click", async () => {
      const { text, query } = button.made;
      const address = `${window.location.origin}${window.location.pathname}?${query}`;
      try {
        await navigator.clipboard.writeText(text === undefined ? address : text);
        said.textContent = "copied";
      } catch {
        // No clipboard outside of a secure context (plain http on another machine).
        said.textContent = text === undefined ? "copy it from the address bar" : "select it and copy it";
      }
      setTimeout(() => { said.textContent = ""; }, 4000);
    });
    parentElement.append(button, said);
  }
  button.made = data;
  button.textContent = data.label;
}
