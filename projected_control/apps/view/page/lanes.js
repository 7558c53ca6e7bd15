// Which lines of a chart share an axis, and where an axis has its labels.

const APART = 8; // times as large from which lines get axes of their own
const TOGETHER = 4; // and down to which those that are apart stay so
const MOST = 3; // axes in one chart

export const LANE = 30, GAP = 12; // what an axis with three labels needs, and the distance between two [px]

// Puts lines together that share a unit and are of like size; a line and its dashed twin always share an axis.
// `sizes` are their largest values in sight, `before` the lanes until now: lines change places only where it helps.
// In a low chart there are fewer lanes: labels must not lie on each other.
export function lanesOf(lines, sizes, before, height = Infinity) {
  const most = Math.max(1, Math.min(MOST, Math.floor((height + GAP) / (LANE + GAP))));
  const groups = new Map(); // lines of one colour are of one thing
  lines.forEach((line, i) => {
    const key = `${line.unit ?? ""} ${line.group ?? line.colour}`;
    const group = groups.get(key) ?? { unit: line.unit ?? "", size: 0, lines: [] };
    group.size = Math.max(group.size, sizes[i]);
    group.lines.push(i);
    groups.set(key, group);
  });
  const apart = before && before.length > 1 ? TOGETHER : APART;
  const lanes = [];
  for (const group of [...groups.values()].sort((a, b) => b.size - a.size)) {
    const fits = lanes.find((lane) => lane.unit === group.unit && (group.size === 0 || lane.size <= apart * group.size));
    const last = lanes.length >= most ? lanes[lanes.length - 1] : null;
    const lane = fits ?? last;
    if (lane) lane.lines.push(...group.lines);
    else lanes.push({ unit: group.unit, size: group.size, lines: [...group.lines] });
  }
  return lanes.map((lane) => lane.lines.sort((a, b) => a - b)).sort((a, b) => a[0] - b[0]);
}

// Values at which an axis has labels: round ones, three at least, more where there is room.
export function ticks(low, high, most) {
  let step = niceStep((high - low) / Math.max(3, most));
  for (;;) {
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i <= high / step + 1e-9; i++) found.push(i * step);
    if (found.length >= 3) return { step, values: found };
    step = niceStep(0.39 * step);
  }
}

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough) + 1e-9);
  return [1, 2, 5, 10].map((m) => m * power).find((candidate) => candidate >= rough * (1 - 1e-9));
}

export function tidy(value, step) {
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const text = digits > 5 ? value.toExponential(1) : value.toFixed(digits);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}
