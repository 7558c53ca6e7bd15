// Controls for parameters: a slider and a number, a switch, a choice or a text, as its kind asks for.

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
const toSlider = (v, s) => Math.round(STEPS * (s.log ? Math.log(v / s.low) / Math.log(s.high / s.low) : (v - s.low) / (s.high - s.low)));
const fromSlider = (i, s) => (s.log ? s.low * (s.high / s.low) ** (i / STEPS) : s.low + (i / STEPS) * (s.high - s.low));

// A number rounded as a person would write it.
export function tidy(value) {
  if (!Number.isFinite(value) || value === 0) return 0;
  return Number(value.toPrecision(3));
}

// One number: a slider and a field. `send` is called when it is let go.
export function numberSlot({ label, value, minimum, maximum, whole, disabled, describe, send, range }) {
  const limits = range ?? span(value, minimum, maximum);
  const slider = element("input", { type: "range", min: 0, max: STEPS, disabled, "aria-label": `${label}, slider` });
  const field = element("input", { type: "number", className: "number", step: "any", disabled, "aria-label": label });
  if (minimum !== null && minimum !== undefined) field.min = minimum;
  if (maximum !== null && maximum !== undefined) field.max = maximum;
  if (describe) for (const input of [slider, field]) input.setAttribute("aria-describedby", describe);
  const put = (v) => {
    field.value = v === null ? "" : Number(Number(v).toPrecision(6));
    slider.value = Math.min(Math.max(toSlider(v, limits) || 0, 0), STEPS);
    slider.setAttribute("aria-valuetext", field.value);
  };
  const chosen = () => {
    const v = fromSlider(Number(slider.value), limits);
    return whole ? Math.round(v) : tidy(v);
  };
  slider.addEventListener("input", () => { field.value = chosen(); slider.dataset.held = "yes"; });
  slider.addEventListener("change", () => { delete slider.dataset.held; send(chosen()); });
  field.addEventListener("change", () => {
    if (field.value === "" || !Number.isFinite(Number(field.value))) return put(value);
    send(Number(field.value));
  });
  put(value);
  return { slider, field, put };
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

  fill() {
    const focus = [...this.slots.querySelectorAll("input, select")].indexOf(document.activeElement);
    this.slots.replaceChildren(...this.build());
    if (focus >= 0) this.slots.querySelectorAll("input, select")[focus]?.focus();
  }

  build() {
    const { spec, value } = this, disabled = !this.may();
    const numeric = spec.type === "int" || spec.type === "float";
    if (spec.is_list) return numeric ? this.list(disabled) : [this.text(disabled)];
    if (spec.type === "bool") {
      const box = element("input", { type: "checkbox", checked: value, disabled, "aria-label": spec.name });
      box.addEventListener("change", () => this.change(box.checked));
      return [box];
    }
    if (spec.choices.length) {
      const choice = element("select", { className: "wide", disabled, "aria-label": spec.name },
        ...spec.choices.map((word) => element("option", { value: word, textContent: word || "–", selected: word === value })));
      choice.addEventListener("change", () => this.change(choice.value));
      return [choice];
    }
    return numeric ? [this.slot(value, disabled, (v) => this.change(v))] : [this.text(disabled)];
  }

  slot(value, disabled, send, label = "") {
    const { spec } = this;
    const made = numberSlot({
      label: label ? `${spec.name}, ${label}` : spec.name, value, minimum: spec.minimum, maximum: spec.maximum,
      whole: spec.type === "int", disabled, describe: this.help.id, send });
    return element("div", { className: label ? "slot named" : "slot" },
      label ? element("span", { textContent: label, title: label }) : null, made.slider, made.field);
  }

  list(disabled) {
    const values = this.value ?? [];
    const labels = this.labels(this.spec.name, values.length);
    if (!values.length && !labels.length) return [this.text(disabled)];
    if (values.length > 16) return [this.text(disabled)];
    const shown = values.length ? values : labels.map(() => 0);
    return shown.map((value, i) => this.slot(value, disabled,
      (v) => this.change(shown.map((old, j) => (j === i ? v : old))),
      shown.length > 1 ? labels[i] ?? String(i + 1) : ""));
  }

  text(disabled) {
    const { spec, value } = this;
    const field = element("input", { type: "text", className: "wide", disabled, "aria-label": spec.name,
      value: spec.is_list ? (value ?? []).join(", ") : value ?? "", placeholder: spec.is_list ? "empty" : "" });
    field.addEventListener("change", () => {
      if (!spec.is_list) return this.change(field.value);
      const words = field.value.split(/[,\s]+/).filter(Boolean);
      return this.change(spec.type === "str" ? words : words.map(Number));
    });
    return field;
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
