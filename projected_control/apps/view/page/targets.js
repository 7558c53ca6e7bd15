// Set-points: where the coordinates shall go, and the force that is asked for.

import { numberSlot } from "/controls.js";
import { element, write } from "/elements.js";

const FAR = { m: 0.3 }; // how far a slider goes each way [m]
const FAR_TURNED = 1.5; // [rad]
const FORCE = 20; // how far one of a force goes at least [N]

export class Targets {
  // `panel` sends; `latest(name)` is the newest value of a quantity.
  constructor(body, panel, latest) {
    Object.assign(this, { body, panel, latest });
    this.coordinates = [];
    this.forces = [];
  }

  // Brings the set-points up to date with a description, the controller's parameters and its newest state.
  show(description, own) {
    const wanted = own["force.reference"] ?? [], { coordinates, controlled, rows } = description;
    const names = controlled.map((i) => rows[i]);
    const forces = !names.length ? [] : wanted.length === names.length ? names : wanted.map(() => ({ name: "all", unit: names[0].unit }));
    const key = JSON.stringify([description.id, coordinates, forces]);
    if (key !== this.key) {
      this.key = key;
      this.build(coordinates, forces);
    }
    const may = this.panel.may();
    write(this.resume, `Follow ${own["reference.kind"]} again`);
    this.resume.disabled = !may;
    this.wanted = wanted;
    this.coordinates.forEach((slot, i) => {
      const desired = this.latest(`${coordinates[i].name}/desired`), known = Number.isFinite(desired);
      slot.enable(may && known);
      if (known) follow(slot, Number(desired.toFixed(4)));
    });
    this.forces.forEach((slot, i) => { slot.enable(may); follow(slot, wanted[i] ?? 0); });
  }

  clear() {
    this.key = null;
    this.coordinates = this.forces = [];
    this.body.replaceChildren();
  }

  build(coordinates, forces) {
    this.coordinates = coordinates.map(({ name, unit }) => numberSlot({ label: `set-point of ${name}`,
      range: about(() => FAR[unit] ?? FAR_TURNED), send: (v) => this.panel.go({ [name]: v }) }));
    this.forces = forces.map(({ name }, i) => numberSlot({ label: `λ_d ${name}`,
      range: (value) => around(0, Math.max(FORCE, 2 * Math.abs(value))),
      send: (v) => this.panel.press(this.wanted.map((old, j) => (j === i ? v : old))) }));
    this.resume = element("button", { type: "button", id: "resume", title: "Leave the set-points, and follow what the parameters say" });
    this.resume.addEventListener("click", () => this.panel.resume());
    this.body.replaceChildren(
      ...coordinates.map(({ name, unit }, i) => row(name, name, unit, this.coordinates[i])),
      element("div", { className: "row" }, this.resume),
      ...forces.map(({ name, unit }, i) => row(`force ${i}`, forces.length > 1 ? `λ_d ${name}` : "λ_d", unit, this.forces[i])),
      element("p", { className: "hint", textContent: "Or drag the green ball and the end of the dashed force in the picture." }));
  }
}

const around = (middle, far) => ({ low: middle - far, high: middle + far, log: false });

// A range about a value, which stays where it is until the value comes near its ends.
function about(far) {
  return (value, limits) => {
    const inside = limits && value - limits.low > 0.2 * far() && limits.high - value > 0.2 * far();
    return inside ? limits : around(value, far());
  };
}

// Shows a value unless the user is just choosing one.
function follow(slot, value) {
  const { slider, field } = slot, focus = document.activeElement;
  const other = field.value === "" || Number(field.value) !== value;
  if (other && !slider.dataset.held && focus !== field && focus !== slider) slot.put(value);
}

function row(target, name, unit, { slider, field }) {
  const made = element("div", { className: "control" },
    element("div", { className: "head" }, element("span", { className: "name", textContent: name }), element("span", { className: "unit", textContent: unit })),
    element("div", { className: "slot" }, slider, field));
  made.dataset.target = target;
  return made;
}
