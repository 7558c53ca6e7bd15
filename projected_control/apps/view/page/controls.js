// Controls for parameters: a slider and a number, a switch, a choice or a text, as its kind asks for.

import { element } from "/elements.js";

// Where a slider goes from and to, about its value: a decade each way where the range is wide, and evenly
// about zero; the number beside it takes the whole range.
export function span(value, minimum, maximum) {
  const low = minimum ?? -1e6, high = maximum ?? 1e6;
  if (high - low <= 1000 && !(low > 0 && high / low > 1e3)) return { low, high, log: false };
  if (value > 0 && low >= 0) {
    return { low: Math.max(low, value / 10, 1e-9), high: Math.min(high, value * 10), log: true };
  }
  const far = Math.max(10, 2 * Math.abs(value));
  return { low: Math.max(low, -far), high: Math.min(high, far), log: false };
}

const STEPS = 1000;
const MOST_SLOTS = 16; // longer lists are texts
const toSlider = (v, s) => Math.round(STEPS * (s.log ? Math.log(v / s.low) / Math.log(s.high / s.low) : (v - s.low) / (s.high - s.low)));
const fromSlider = (i, s) => (s.log ? s.low * (s.high / s.low) ** (i / STEPS) : s.low + (i / STEPS) * (s.high - s.low));

// A number rounded as a person would write it.
export function tidy(value) {
  if (!Number.isFinite(value) || value === 0) return 0;
  return Number(value.toPrecision(3));
}

// One number: a slider and a field. `send` is called when it is let go; `range(value, limits)` says where the slider
// goes from and to, given where it went before.
export function numberSlot({ label, minimum, maximum, whole, describe, send, range }) {
  let value = null, limits = null;
  const slider = element("input", { type: "range", min: 0, max: STEPS, "aria-label": `${label}, slider` });
  const field = element("input", { type: "number", className: "number", step: "any", "aria-label": label });
  if (minimum !== null && minimum !== undefined) field.min = minimum;
  if (maximum !== null && maximum !== undefined) field.max = maximum;
  if (describe) for (const input of [slider, field]) input.setAttribute("aria-describedby", describe);
  const put = (v) => {
    value = v;
    limits = range ? range(v, limits) : span(v, minimum, maximum);
    field.value = v === null ? "" : Number(Number(v).toPrecision(6));
    slider.value = Math.min(Math.max(toSlider(v, limits) || 0, 0), STEPS);
    slider.setAttribute("aria-valuetext", field.value);
  };
  const enable = (may) => { slider.disabled = field.disabled = !may; };
  const chosen = () => {
    const v = fromSlider(Number(slider.value), limits);
    return whole ? Math.round(v) : tidy(v);
  };
  slider.addEventListener("input", () => { field.value = chosen(); slider.dataset.held = "yes"; });
  for (const end of ["pointerup", "blur"]) slider.addEventListener(end, () => { delete slider.dataset.held; }); // also where it ends as it began
  slider.addEventListener("change", () => { delete slider.dataset.held; send(chosen()); });
  field.addEventListener("change", () => {
    if (field.value === "" || !Number.isFinite(Number(field.value))) return put(value);
    send(Number(field.value));
  });
  return { slider, field, put, enable };
}

export class Control {
  // `send(value)` returns the answer of the server.
  constructor(spec, value, { labels, may, send }) {
    Object.assign(this, { spec, value, labels, may, send });
    this.help = element("p", { className: "help", id: `help-${spec.name}-${Math.random().toString(36).slice(2)}`, textContent: spec.description });
    this.slots = element("div");
    this.refusal = element("p", { className: "refusal", hidden: true, role: "alert" });
    this.root = element("div", { className: "control" },
      element("div", { className: "head" },
        element("span", { className: "name", textContent: spec.name }),
        element("span", { className: "unit", textContent: spec.unit })),
      this.slots, this.help, this.refusal);
    this.root.dataset.parameter = spec.name;
    // While the user writes, nothing that comes in takes the field away.
    this.slots.addEventListener("input", (event) => { this.writing = event.target.type !== "range"; });
    this.slots.addEventListener("focusout", () => { if (this.writing && !this.busy) { this.writing = false; this.fill(); } });
    const bounds = spec.minimum !== null ? ` From ${spec.minimum} to ${spec.maximum}.` : "";
    this.root.title = `${spec.description}.${bounds}`;
    this.fill();
  }

  // Show another value, unless the user is just choosing one.
  put(value) {
    if (JSON.stringify(value) === JSON.stringify(this.value)) return;
    this.value = value;
    this.refresh();
  }

  // The value in the fields there are; other ones only where it has become of another shape.
  fill() {
    const given = this.spec.is_list ? this.value?.length ?? 0 : 0, labels = this.spec.is_list ? this.labels(this.spec.name, given) : [];
    const names = Array.from({ length: given || labels.length }, (_, i) => labels[i] ?? String(i + 1));
    const shape = JSON.stringify(names);
    if (shape !== this.shape) {
      this.shape = shape;
      this.slots.replaceChildren(...this.build(names.length > 1 ? names : names.map(() => "")));
    }
    this.show(this.value);
    this.enable(this.may());
  }

  // Builds the fields, and how to show a value in them: `show(value)`, `enable(may)`.
  build(names) {
    const { spec } = this;
    const numeric = spec.type === "int" || spec.type === "float";
    if (spec.is_list) return numeric ? this.list(names) : [this.text()];
    if (spec.type === "bool") {
      const box = element("input", { type: "checkbox", "aria-label": spec.name });
      box.addEventListener("change", () => this.change(box.checked));
      return [this.single(box, (value) => { box.checked = value; })];
    }
    if (spec.choices.length) {
      const choice = element("select", { className: "wide", "aria-label": spec.name },
        ...spec.choices.map((word) => element("option", { value: word, textContent: word || "–" })));
      choice.addEventListener("change", () => this.change(choice.value));
      return [this.single(choice, (value) => { choice.value = value; })];
    }
    return numeric ? this.numbers([""], (value) => [value], ([value]) => value) : [this.text()];
  }

  single(input, show) {
    this.show = show;
    this.enable = (may) => { input.disabled = !may; };
    return input;
  }

  // A slot per number: `apart` makes numbers of the value, `together` a value of the numbers.
  numbers(labels, apart, together) {
    const { spec } = this;
    const slots = labels.map((label, i) => numberSlot({
      label: label ? `${spec.name}, ${label}` : spec.name, minimum: spec.minimum, maximum: spec.maximum,
      whole: spec.type === "int", describe: this.help.id,
      send: (v) => this.change(together(apart(this.value).map((old, j) => (j === i ? v : old)))) }));
    this.show = (value) => apart(value).forEach((each, i) => slots[i].put(each));
    this.enable = (may) => slots.forEach((slot) => slot.enable(may));
    return slots.map((slot, i) => element("div", { className: labels[i] ? "slot named" : "slot" },
      labels[i] ? element("span", { textContent: labels[i], title: labels[i] }) : null, slot.slider, slot.field));
  }

  list(names) {
    if (!names.length || names.length > MOST_SLOTS) return [this.text()];
    return this.numbers(names, (value) => (value?.length ? value : names.map(() => 0)), (numbers) => numbers);
  }

  text() {
    const { spec } = this;
    const field = element("input", { type: "text", className: "wide", "aria-label": spec.name, placeholder: spec.is_list ? "empty" : "" });
    field.addEventListener("change", () => {
      if (!spec.is_list) return this.change(field.value);
      const words = field.value.split(/[,\s]+/).filter(Boolean);
      return this.change(spec.type === "str" ? words : words.map(Number));
    });
    return this.single(field, (value) => { field.value = spec.is_list ? (value ?? []).join(", ") : value ?? ""; });
  }

  async change(value) {
    this.busy = true;
    this.writing = false;
    this.refusal.hidden = true;
    this.root.classList.add("waiting");
    const answer = await this.send(value);
    this.busy = false;
    this.root.classList.remove("waiting");
    if (answer.ok) {
      this.value = value;
      this.blend(answer.blend);
    } else if (!answer.cancelled) {
      this.refuse(answer.reason);
    }
    this.fill(); // the new value, or the old one again
  }

  refuse(reason) {
    this.refusal.textContent = reason;
    this.refusal.hidden = false;
    this.root.classList.remove("refused");
    void this.root.offsetWidth; // begins the animation anew
    this.root.classList.add("refused");
    clearTimeout(this.forgetting);
    this.forgetting = setTimeout(() => { this.refusal.hidden = true; }, 15000);
  }

  // A bar for as long as the change takes to be in force.
  blend(seconds) {
    if (!seconds) return;
    const bar = element("div", { className: "blend", title: `comes into force over ${seconds} s` });
    this.root.append(bar);
    bar.animate([{ transform: "scaleX(0)" }, { transform: "scaleX(1)" }], { duration: 1000 * seconds, easing: "linear" })
      .finished.finally(() => bar.remove());
  }

  refresh() {
    if (!this.root.querySelector("[data-held]") && !this.busy && !this.writing) this.fill();
  }
}
