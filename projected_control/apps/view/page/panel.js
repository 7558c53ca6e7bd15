// The column beside the arm: lights, lifecycle, set-points, presets, parameters, the simulated arm.

import { Control, element, numberSlot } from "/controls.js";

const NEXT = { unconfigured: ["configure"], inactive: ["activate", "cleanup"], active: ["deactivate"] };
const GROUPS = { gains: "Gains", force: "Force", reference: "Reference", limits: "Limits", compensation: "Friction compensation", disturbance: "Disturbances", payload: "Payload" };
const OPEN = ["gains", "force"];
const PLANT_FIRST = ["fault", "disturbance.effort", "simulation.factor"];

export class Panel {
  constructor({ ask, may, toast, latest }) {
    Object.assign(this, { ask, may, toast, latest });
    this.controls = new Map();
    this.values = new Map();
    this.opened = new Set();
    this.description = null;
    this.find = document.getElementById("find");
    this.find.addEventListener("input", () => this.filter());
  }

  body(id) {
    return document.querySelector(`#${id} > .body`);
  }

  // Lights

  lights(list) {
    const red = list.filter((light) => light.level >= 2).length, amber = list.filter((light) => light.level === 1).length;
    document.querySelector("#lights summary").replaceChildren("Lights",
      element("small", { textContent: red ? `${red} red` : amber ? `${amber} amber` : list.length ? "all green" : "" }));
    const names = ["good", "warning", "error", "silent"];
    this.body("lights").replaceChildren(...list.map((light) => {
      const open = this.opened.has(light.name);
      const head = element("button", { type: "button", "aria-expanded": String(open) },
        element("span", { className: `dot l${light.level}`, role: "img", "aria-label": names[light.level] ?? "" }),
        element("b", { textContent: light.name }), element("p", { textContent: light.message }));
      head.dataset.light = light.name;
      head.addEventListener("click", () => {
        if (!this.opened.delete(light.name)) this.opened.add(light.name);
        this.lights(list);
        document.querySelector(`[data-light="${CSS.escape(light.name)}"]`)?.focus();
      });
      const rising = light.values.filter(([, , rose]) => rose);
      const shown = open ? light.values : rising;
      const table = element("table", {}, element("tbody", {}, ...shown.map(([key, value, rose]) =>
        element("tr", { className: rose ? "rising" : "" }, element("td", { textContent: key }), element("td", { textContent: value })))));
      const item = element("div", { className: `light l${light.level}` }, head, shown.length ? table : null);
      item.dataset.level = light.level;
      return item;
    }));
  }

  // Lifecycle

  life(controller) {
    const key = JSON.stringify([controller, this.may()]);
    if (key === this.lifeKey) return;
    this.lifeKey = key;
    if (!controller) return this.body("life").replaceChildren();
    const act = async (label) => {
      const answer = await this.ask({ ask: "transition", controller: controller.id, label });
      if (!answer.ok && !answer.cancelled) this.toast(answer.reason, true);
    };
    const buttons = (NEXT[controller.state] ?? []).map((label) => {
      const button = element("button", { type: "button", textContent: label[0].toUpperCase() + label.slice(1), disabled: !this.may() });
      button.dataset.transition = label;
      button.addEventListener("click", async () => { button.disabled = true; await act(label); button.disabled = !this.may(); });
      return button;
    });
    const where = controller.simulated ? (controller.arm ? `simulated arm ${controller.arm}` : "simulated in a physics engine") : "an arm that may be real";
    this.body("life").replaceChildren(
      element("p", { className: "facts" }, element("b", { id: "state", textContent: controller.state || "starting" }), ` · ${controller.kind || "unknown kind"} · ${where}`),
      ...(controller.trouble ? [element("p", { className: "facts", textContent: controller.trouble })] : []),
      element("div", { className: "row" }, ...buttons));
  }

  // Parameters

  describe(description) {
    this.description = description;
    // After a lost connection, or a restart with the same parameters, the controls stay as they are.
    const key = JSON.stringify([description.id, description.nodes, description.coordinates, description.rows]);
    if (key === this.described) return;
    this.described = key;
    this.controls.clear();
    this.values.clear();
    const [controller, plant] = description.nodes;
    this.laid = false;
    document.getElementById("parameters").replaceChildren();
    this.body("plant").replaceChildren();
    document.getElementById("plant").hidden = !plant;
    for (const id of ["targets", "presets"]) this.body(id).replaceChildren();
    this.targetKey = null;
    this.nodes = { controller: controller?.node, plant: plant?.node };
  }

  setValues(node, values) {
    this.values.set(node, values);
    const own = this.description?.nodes.find((each) => each.node === node);
    if (!own) return;
    if (!this.controls.has(node)) this.build(own, values);
    else for (const [name, control] of this.controls.get(node)) control.put(values[name]);
  }

  build(own, values) {
    const made = new Map();
    this.controls.set(own.node, made);
    for (const spec of own.parameters.filter((each) => each.live)) {
      made.set(spec.name, new Control(spec, values[spec.name], {
        labels: (name, count) => this.labels(name, count), may: this.may,
        send: (value) => this.set(own.node, { [spec.name]: value }) }));
    }
    if (own.node === this.nodes.plant) return this.buildPlant(made, own, values);
    const groups = new Map();
    for (const [name, control] of made) {
      const group = name.includes(".") ? name.split(".")[0] : "other";
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group).push(control);
    }
    const order = Object.keys(GROUPS), rank = (g) => (order.includes(g) ? order.indexOf(g) : 99);
    const sections = [...groups.keys()].sort((a, b) => rank(a) - rank(b)).map((group) => {
      const section = element("details", { open: OPEN.includes(group) },
        element("summary", {}, GROUPS[group] ?? (group === "other" ? "Other" : group), element("small", { textContent: `${groups.get(group).length}` })),
        element("div", { className: "body" }, ...groups.get(group).map((control) => control.root)));
      section.dataset.group = group;
      return section;
    });
    const fixed = own.parameters.filter((spec) => !spec.live);
    sections.push(element("details", {}, element("summary", {}, "Fixed while active", element("small", { textContent: `${fixed.length}` })),
      element("div", { className: "body" }, ...fixed.map((spec) => {
        const row = element("div", { className: "control", title: spec.description },
          element("div", { className: "head" }, element("span", { className: "name", textContent: spec.name }),
            element("span", { className: "unit", textContent: brief(values[spec.name], spec.unit) })),
          element("p", { className: "help", textContent: spec.description }));
        row.dataset.parameter = spec.name;
        return row;
      }))));
    document.getElementById("parameters").replaceChildren(...sections);
    this.filter();
  }

  buildPlant(made, own, values) {
    const act = (action, text) => {
      const button = element("button", { type: "button", textContent: text, disabled: !this.may() });
      button.dataset.arm = action;
      button.addEventListener("click", async () => {
        const answer = await this.ask({ ask: "arm", controller: this.description.id, action });
        this.toast(answer.ok ? `the simulated arm: ${answer.text}` : answer.reason, !answer.ok);
      });
      return button;
    };
    const first = PLANT_FIRST.filter((name) => made.has(name)), rest = [...made.keys()].filter((name) => !first.includes(name));
    this.body("plant").replaceChildren(
      element("div", { className: "row" }, act("pause", "Pause"), act("step", "Step"), act("go", "Go on"), act("reset", "Reset")),
      ...[...first, ...rest].map((name) => made.get(name).root));
  }

  labels(name, count) {
    const { joints = [], coordinates = [], rows = [], controlled = [] } = this.description;
    const words = coordinates.map((c) => c.name);
    if (name === "disturbance.effort") return joints;
    if (name === "force.reference") return count > 1 ? controlled.map((i) => rows[i].name) : [];
    if (count === words.length && /^(gains|reference|disturbance)\./.test(name)) return words;
    return count === joints.length ? joints : [];
  }

  async set(node, values) {
    return this.ask({ ask: "set", controller: this.description.id, node, values });
  }

  // What was set another way (undo, a preset): show how it comes into force.
  blend(names, seconds) {
    for (const made of this.controls.values()) for (const name of names) made.get(name)?.blend(seconds);
  }

  refuse(node, name, reason) {
    const control = this.controls.get(node)?.get(name);
    if (control) control.refuse(reason);
    else this.toast(reason, true);
  }

  filter() {
    const word = this.find.value.trim().toLowerCase();
    for (const section of document.querySelectorAll("#parameters > details")) {
      let any = false;
      for (const control of section.querySelectorAll(".control")) {
        const fits = !word || control.dataset.parameter.toLowerCase().includes(word) || control.title.toLowerCase().includes(word);
        control.hidden = !fits;
        any ||= fits;
      }
      section.hidden = !any;
      if (word && any) section.open = true;
    }
  }

  // Set-points

  targets(picture) {
    const { description } = this;
    const own = this.values.get(this.nodes?.controller);
    if (!description?.coordinates || !own) return;
    const forces = own["force.reference"];
    const desired = description.coordinates.map(({ name }) => this.latest(`${name}/desired`));
    const key = JSON.stringify([description.id, description.generation, this.may(), forces, own["reference.kind"], desired.every((v) => v !== undefined)]);
    if (key === this.targetKey) return this.follow(desired);
    this.targetKey = key;
    this.targetSlots = [];
    const rows = description.coordinates.map(({ name, unit }, i) => {
      const value = desired[i] ?? 0, far = unit === "m" ? 0.3 : 1.5;
      const slot = numberSlot({ label: `set-point of ${name}`, value, disabled: !this.may() || desired[i] === undefined,
        range: { low: value - far, high: value + far, log: false }, send: (v) => this.go({ [name]: v }) });
      this.targetSlots.push(slot);
      const row = element("div", { className: "control" },
        element("div", { className: "head" }, element("span", { className: "name", textContent: name }), element("span", { className: "unit", textContent: unit })),
        element("div", { className: "slot" }, slot.slider, slot.field));
      row.dataset.target = name;
      return row;
    });
    const resume = element("button", { type: "button", textContent: `Follow ${own["reference.kind"]} again`, disabled: !this.may(), title: "Leave the set-points, and follow what the parameters say" });
    resume.id = "resume";
    resume.addEventListener("click", async () => {
      const answer = await this.ask({ ask: "resume", controller: description.id });
      if (!answer.ok && !answer.cancelled) this.toast(answer.reason, true);
    });
    const parts = [...rows, element("div", { className: "row" }, resume)];
    if (forces && description.controlled.length) {
      const names = description.controlled.map((i) => description.rows[i]);
      const shown = forces.length === names.length ? names : [{ name: "all", unit: names[0].unit }];
      shown.forEach(({ name, unit }, i) => {
        const value = forces[i] ?? 0, far = Math.max(20, 2 * Math.abs(value));
        const slot = numberSlot({ label: `λ_d ${name}`, value, disabled: !this.may(), range: { low: -far, high: far, log: false },
          send: (v) => this.press(forces.map((old, j) => (j === i ? v : old))) });
        const row = element("div", { className: "control" },
          element("div", { className: "head" }, element("span", { className: "name", textContent: names.length > 1 ? `λ_d ${name}` : "λ_d" }), element("span", { className: "unit", textContent: unit })),
          element("div", { className: "slot" }, slot.slider, slot.field));
        row.dataset.target = `force ${i}`;
        parts.push(row);
      });
    }
    parts.push(element("p", { className: "hint", textContent: "Or drag the green ball and the end of the dashed force in the picture." }));
    this.body("targets").replaceChildren(...parts);
  }

  follow(desired) {
    this.targetSlots?.forEach((slot, i) => {
      const held = slot.slider.dataset.held || document.activeElement === slot.field || document.activeElement === slot.slider;
      if (!held && desired[i] !== undefined && desired[i] !== null) slot.put(Number(desired[i].toFixed(4)));
    });
  }

  async go(values) {
    const answer = await this.ask({ ask: "setpoint", controller: this.description.id, values });
    if (!answer.ok && !answer.cancelled) this.toast(answer.reason, true);
  }

  async press(values) {
    const answer = await this.set(this.nodes.controller, { "force.reference": values });
    if (answer.ok) this.blend(["force.reference"], answer.blend);
    else if (!answer.cancelled) this.refuse(this.nodes.controller, "force.reference", answer.reason);
    this.targetKey = null;
  }

  // Presets

  presets(names) {
    const key = JSON.stringify([names, this.may(), this.description?.id]);
    if (!this.description || (key === this.presetKey && this.body("presets").childElementCount)) return;
    this.presetKey = key;
    const disabled = !this.may(), id = this.description.id;
    const choice = element("select", { disabled, "aria-label": "Preset" }, ...names.map((name) => element("option", { value: name, textContent: name })));
    const load = element("button", { type: "button", textContent: "Load", disabled });
    choice.id = "preset";
    load.id = "load";
    load.addEventListener("click", async () => {
      const answer = await this.ask({ ask: "preset", controller: id, name: choice.value });
      if (answer.ok) this.blend(answer.names, answer.blend);
      if (!answer.cancelled) this.toast(answer.ok ? `preset ${choice.value} is in force` : answer.reason, !answer.ok);
    });
    const name = element("input", { type: "text", placeholder: "name", disabled, "aria-label": "Name of a new preset", maxLength: 40 });
    const save = element("button", { type: "button", textContent: "Save", disabled });
    name.id = "preset-name";
    save.id = "save";
    save.addEventListener("click", async () => {
      const answer = await this.ask({ ask: "save", controller: id, name: name.value.trim() });
      this.toast(answer.ok ? `saved to ${answer.path}` : answer.reason, !answer.ok);
    });
    this.body("presets").replaceChildren(element("div", { className: "row" }, choice, load), element("div", { className: "row" }, name, save));
  }

  changes(list) {
    document.querySelector("#changes summary").replaceChildren("Changes", element("small", { textContent: list.length ? `${list.length}` : "" }));
    this.body("changes").replaceChildren(...[...list].reverse().map(({ controller, text }) => element("li", { textContent: `${controller}: ${text}` })));
  }

  said({ node, level, text }) {
    const list = this.body("said");
    list.prepend(element("li", { className: level >= 40 ? "bad" : "warn", textContent: `${node}: ${text}` }));
    while (list.childElementCount > 50) list.lastElementChild.remove();
    document.querySelector("#said summary").replaceChildren("Messages", element("small", { textContent: `${list.childElementCount}` }));
  }

  refresh() {
    this.lifeKey = this.targetKey = this.presetKey = null;
    for (const made of this.controls.values()) for (const control of made.values()) control.refresh();
  }
}

function brief(value, unit) {
  const text = Array.isArray(value) ? `[${value.join(", ")}]` : String(value);
  const short = text.length > 28 ? `${text.slice(0, 27)}…` : text || "–";
  return unit && text ? `${short} ${unit}` : short;
}
