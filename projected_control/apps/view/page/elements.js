// Elements, and lists of them that change in place: what a user is about to click is never replaced.

// Elements in one line: element("p", { className: "x" }, "text", child).
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "role") made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// Makes the children of an element those of a list: one per item, known by its key, made once by `make(item)`
// and brought up to date by `update(child, item)`.
export function keep(parent, items, key, make, update = () => {}) {
  const before = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  const children = items.map((item) => {
    const name = String(key(item));
    const child = before.get(name) ?? make(item);
    before.delete(name);
    child.dataset.key = name;
    update(child, item);
    return child;
  });
  for (const child of before.values()) child.remove();
  children.forEach((child, i) => {
    if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i] ?? null); // others keep the focus
  });
  return children;
}

// Writes only what is new, so that a text that a user selects or reads aloud stays.
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// The small print at the right of a section's title.
export function count(section, text) {
  const summary = section.querySelector("summary");
  write(summary.querySelector("small") ?? summary.appendChild(element("small")), text);
}
