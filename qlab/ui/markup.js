// HTML with MathML as it stands, replaced only where it changed. data: {html}

export default function (component) {
  const { data, parentElement } = component;
  let root = parentElement.querySelector(".q-markup");
  if (!root) {
    root = document.createElement("div");
    root.className = "q-markup";
    parentElement.append(root);
  }
  if (root.made !== data.html) {
    root.innerHTML = data.html;
    root.made = data.html;
  }
}
