// What the nodes say of themselves, the worst first.

import { count, element, keep, write } from "/elements.js";

const LEVELS = ["good", "warning", "error", "silent"];

export class Lights {
  constructor(section) {
    this.section = section;
    this.body = section.querySelector(".body");
    this.opened = new Set();
    this.list = [];
  }

  show(list) {
    this.list = list;
    const red = list.filter((light) => light.level >= 2).length, amber = list.filter((light) => light.level === 1).length;
    count(this.section, red ? `${red} red` : amber ? `${amber} amber` : list.length ? "all green" : "");
    keep(this.body, list, (light) => light.name, (light) => this.make(light), (item, light) => this.update(item, light));
  }

  make({ name }) {
    const head = element("button", { type: "button" },
      element("span", { role: "img" }), element("b", { textContent: name }), element("small"), element("p"));
    head.dataset.light = name;
    head.addEventListener("click", () => {
      if (!this.opened.delete(name)) this.opened.add(name);
      this.show(this.list);
    });
    return element("div", {}, head, element("table", {}, element("tbody")));
  }

  update(item, { name, level, message, values }) {
    const open = this.opened.has(name), [head, table] = item.children, [dot, , rising, text] = head.children;
    item.className = `light l${level}`;
    item.dataset.level = level;
    head.setAttribute("aria-expanded", String(open));
    dot.className = `dot l${level}`;
    dot.setAttribute("aria-label", LEVELS[level] ?? "");
    write(text, message);
    // In the same line, so that nothing below moves under a hand.
    write(rising, open ? "" : values.filter(([, , rose]) => rose).map(([key, value]) => `${key} ${value}`).join(", "));
    rising.title = rising.textContent;
    table.hidden = !open;
    keep(table.firstElementChild, open ? values : [], ([key]) => key, ([key]) => element("tr", {}, element("td", { textContent: key }), element("td")),
      (row, [, value, rose]) => { row.className = rose ? "rising" : ""; write(row.lastElementChild, value); });
  }
}
