// The column beside the arm: lifecycle, set-points, presets, parameters, the simulated arm. What is there is brought up
// to date, never replaced: a user may be about to click it.

import { Control } from "/controls.js";
import { count, element, keep, write } from "/elements.js";
import { Targets } from "/targets.js";

const NEXT = { unconfigured: ["configure"], inactive: ["activate", "cleanup"], active: ["deactivate"] };
const GROUPS = { gains: "Gains", force: "Force", reference: "Reference", limits: "Limits", compensation: "Friction compensation", disturbance: "Disturbances", payload: "Payload" };
const OPEN = ["gains", "force"];
const PLANT_FIRST = ["fault", "push.effort", "simulation.factor"];
const FORMER = ["disturbance.effort"]; // former names
const RESET = "Reset on the live page"; // in a reason that a reset of the simulated arm mends

export class Panel {
  constructor({ ask, may, toast, latest }) {
    Object.assign(this, { ask, may, toast });
    this.controls = new Map(); // by node: the controls of its live parameters, by name
    this.fixed = new Map(); // by node: where the other ones are shown, by name
    this.built = new Map(); // by node: of what they were made
    this.values = new Map();
    this.description = null;
    this.setpoints = new Targets(this.body("targets"), this, latest);
    this.find = document.getElementById("find");
    this.find.addEventListener("input", () => this.filter());
    this.buildPresets();
  }

  body(id) {
    return document.querySelector(`#${id} > .body`);
  }

  // Asks the server; tells the user where it refuses.
  async tell(message) {
    const answer = await this.ask({ ...message, controller: this.description.id });
    if (!answer.ok && !answer.cancelled) this.toast(answer.reason, true);
    return answer;
  }

  // The button that does what a reason says, where it says so and there is a simulated arm.
  remedy(reason) {
    if (!reason.includes(RESET) || !this.nodes?.plant) return null;
    const button = element("button", { type: "button", textContent: "Reset the arm", className: "remedy" });
    button.addEventListener("click", async () => {
      const answer = await this.tell({ ask: "arm", action: "reset" });
      if (answer.ok) this.toast("the simulated arm is at its start again; Activate starts the controller");
    });
    return button;
  }

  // Lifecycle

  life(controller) {
    const body = this.body("life"), may = this.may();
    const facts = keep(body, controller ? ["facts", "trouble", "row"] : [], (name) => name,
      (name) => (name === "row" ? element("div", { className: name }) : element("p", { className: "facts" }, ...(name === "facts" ? [element("b", { id: "state" }), element("span")] : []))));
    if (!controller) return;
    const [{ children: [state, rest] }, trouble, row] = facts;
    const where = controller.simulated ? (controller.arm ? `simulated arm ${controller.arm}` : "simulated in a physics engine") : "an arm that may be real";
    write(state, controller.state || "starting");
    write(rest, ` · ${controller.kind || "unknown kind"} · ${where}`);
    write(trouble, controller.trouble);
    trouble.hidden = !controller.trouble;
    keep(row, NEXT[controller.state] ?? [], (label) => `${controller.id} ${label}`, (label) => {
      const button = element("button", { type: "button", textContent: label[0].toUpperCase() + label.slice(1) });
      button.dataset.transition = label;
      button.addEventListener("click", async () => {
        button.dataset.busy = "yes";
        button.disabled = true;
        const answer = await this.ask({ ask: "transition", controller: controller.id, label });
        delete button.dataset.busy;
        button.disabled = !this.may();
        if (!answer.ok && !answer.cancelled) this.toast(answer.reason, true, this.remedy(answer.reason));
      });
      return button;
    }, (button) => { button.disabled = !may || "busy" in button.dataset; });
  }

  // Parameters

  describe(description) {
    if (description.id !== this.description?.id) this.clear();
    this.description = description;
    const plant = description.nodes.find(({ node }) => node !== description.id);
    document.getElementById("plant").hidden = !plant;
    this.nodes = { controller: description.id, plant: plant?.node };
  }

  clear() {
    for (const map of [this.controls, this.fixed, this.built, this.values]) map.clear();
    document.getElementById("parameters").replaceChildren();
    this.body("plant").replaceChildren();
    this.setpoints.clear();
  }

  setValues(node, values) {
    this.values.set(node, values);
    const own = this.description?.nodes.find((each) => each.node === node);
    if (!own) return;
    const { joints, coordinates, rows, controlled } = this.description;
    const key = JSON.stringify([own, joints, coordinates, rows, controlled]);
    if (key !== this.built.get(node)) {
      this.built.set(node, key); // of another shape than before, or new
      this.build(own, values);
    }
    for (const [name, control] of this.controls.get(node)) control.put(values[name]);
    for (const [name, shown] of this.fixed.get(node)) write(shown, brief(values[name], own.parameters.find((each) => each.name === name).unit));
  }

  build(own, values) {
    const made = new Map(), shown = new Map();
    this.controls.set(own.node, made);
    this.fixed.set(own.node, shown);
    for (const spec of own.parameters.filter((each) => each.live && !(own.node === this.nodes.plant && FORMER.includes(each.name)))) {
      made.set(spec.name, new Control(spec, values[spec.name], {
        labels: (name, long) => this.labels(name, long), may: this.may,
        send: (value) => this.set(own.node, { [spec.name]: value }) }));
    }
    if (own.node === this.nodes.plant) return this.buildPlant(made);
    const groups = new Map();
    for (const [name, control] of made) {
      const group = name.includes(".") ? name.split(".")[0] : "other";
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group).push(control);
    }
    const order = Object.keys(GROUPS), rank = (g) => (order.includes(g) ? order.indexOf(g) : 99);
    const open = new Set([...document.querySelectorAll("#parameters > details[open]")].map((section) => section.dataset.group));
    const sections = [...groups.keys()].sort((a, b) => rank(a) - rank(b)).map((group) => {
      const section = element("details", { open: open.size ? open.has(group) : OPEN.includes(group) },
        element("summary", {}, GROUPS[group] ?? (group === "other" ? "Other" : group), element("small", { textContent: `${groups.get(group).length}` })),
        element("div", { className: "body" }, ...groups.get(group).map((control) => control.root)));
      section.dataset.group = group;
      return section;
    });
    const fixed = own.parameters.filter((spec) => !spec.live);
    sections.push(element("details", {}, element("summary", {}, "Fixed while active", element("small", { textContent: `${fixed.length}` })),
      element("div", { className: "body" }, ...fixed.map((spec) => {
        const value = element("span", { className: "unit" });
        shown.set(spec.name, value);
        const row = element("div", { className: "control", title: spec.description },
          element("div", { className: "head" }, element("span", { className: "name", textContent: spec.name }), value),
          element("p", { className: "help", textContent: spec.description }));
        row.dataset.parameter = spec.name;
        return row;
      }))));
    document.getElementById("parameters").replaceChildren(...sections);
    this.filter();
  }

  buildPlant(made) {
    this.plantButtons = [["pause", "Pause"], ["step", "Step"], ["go", "Go on"], ["reset", "Reset"]].map(([action, text]) => {
      const button = element("button", { type: "button", textContent: text, disabled: !this.may() });
      button.dataset.arm = action;
      button.addEventListener("click", async () => {
        const answer = await this.tell({ ask: "arm", action });
        if (answer.ok) this.toast(`the simulated arm: ${answer.text}`);
      });
      return button;
    });
    const first = PLANT_FIRST.filter((name) => made.has(name)), rest = [...made.keys()].filter((name) => !first.includes(name));
    this.body("plant").replaceChildren(
      element("div", { className: "row" }, ...this.plantButtons), ...[...first, ...rest].map((name) => made.get(name).root));
  }

  labels(name, long) {
    const { joints = [], coordinates = [], rows = [], controlled = [] } = this.description;
    const words = coordinates.map((c) => c.name);
    if (name === "push.effort") return joints;
    if (name === "force.reference") return long > 1 ? controlled.map((i) => rows[i].name) : [];
    if (long === words.length && /^(gains|reference|disturbance)\./.test(name)) return words;
    return long === joints.length ? joints : [];
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
    for (const section of document.querySelectorAll("#parameters > details, #plant")) {
      let any = false;
      for (const control of section.querySelectorAll(".control")) {
        const fits = !word || control.dataset.parameter.toLowerCase().includes(word) || control.title.toLowerCase().includes(word);
        control.hidden = !fits;
        any ||= fits;
      }
      if (section.id !== "plant") section.hidden = !any; // that one is hidden where there is no simulated arm
      if (word && any) section.open = true;
    }
  }

  // Set-points

  targets() {
    const own = this.values.get(this.nodes?.controller);
    if (this.description?.coordinates && own) this.setpoints.show(this.description, own);
  }

  async go(values) {
    const answer = await this.tell({ ask: "setpoint", values });
    if (answer.ok) document.getElementById("targets").open = true; // the way back to the reference stands there
    return answer;
  }

  async resume() {
    return this.tell({ ask: "resume" });
  }

  async press(values) {
    const answer = await this.set(this.nodes.controller, { "force.reference": values });
    if (answer.ok) this.blend(["force.reference"], answer.blend);
    else if (!answer.cancelled) this.refuse(this.nodes.controller, "force.reference", answer.reason);
  }

  // Presets

  buildPresets() {
    const choice = this.choice = element("select", { id: "preset", "aria-label": "Preset" });
    const load = element("button", { type: "button", id: "load", textContent: "Load" });
    load.addEventListener("click", async () => {
      const name = choice.value, answer = await this.tell({ ask: "preset", name });
      if (!answer.ok) return;
      this.blend(answer.names, answer.blend);
      this.toast(`preset ${name} is in force`);
    });
    const name = element("input", { type: "text", id: "preset-name", placeholder: "name", "aria-label": "Name of a new preset", maxLength: 40 });
    const save = element("button", { type: "button", id: "save", textContent: "Save" });
    save.addEventListener("click", async () => {
      const answer = await this.tell({ ask: "save", name: name.value.trim() });
      if (answer.ok) this.toast(`saved to ${answer.path}`);
    });
    this.presetInputs = [choice, load, name, save];
    this.body("presets").append(element("div", { className: "row" }, choice, load, name, save));
    this.presets([]);
  }

  presets(names) {
    keep(this.choice, names, (name) => name, (name) => element("option", { value: name, textContent: name }));
    this.enable();
  }

  // Buttons and fields that no list brings up to date.
  enable() {
    const may = this.may();
    for (const input of this.presetInputs) input.disabled = !may || !this.description;
    for (const button of this.plantButtons ?? []) button.disabled = !may;
  }

  changes(list) {
    count(document.getElementById("changes"), list.length ? `${list.length}` : "");
    this.body("changes").replaceChildren(...[...list].reverse().map(({ controller, text }) => element("li", { textContent: `${controller}: ${text}` })));
  }

  said({ node, level, text }) {
    const list = this.body("said");
    list.prepend(element("li", { className: level >= 40 ? "bad" : "warn", textContent: `${node}: ${text}` }));
    while (list.childElementCount > 50) list.lastElementChild.remove();
    count(document.getElementById("said"), `${list.childElementCount}`);
  }

  // What may be done has changed.
  refresh() {
    this.enable();
    this.targets();
    for (const made of this.controls.values()) for (const control of made.values()) control.refresh();
  }
}

function brief(value, unit) {
  const text = Array.isArray(value) ? `[${value.join(", ")}]` : String(value);
  const short = text.length > 28 ? `${text.slice(0, 27)}…` : text || "–";
  return unit && text ? `${short} ${unit}` : short;
}
