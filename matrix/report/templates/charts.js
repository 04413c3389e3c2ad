// Charts: a frame with axes, marks drawn by the caller, and one reading cursor for pointer and keyboard alike.

const EDGE = { top: 10, right: 10, bottom: 24, left: 50 };

// One chart in a figure. `draw(plot)` puts the marks in; `read(index)` returns the rows of the reading at a position.
function chart({ title, keys = [], height, label, positions, xLabel, scale, draw, read, right = EDGE.right }) {
  const svg = shape("svg", { class: "chart", height, role: "img", "aria-label": label, tabindex: 0 });
  const tip = make("div", { class: "tip", role: "status", hidden: true });
  const caption = make("figcaption", {}, make("span", {}, make("b", {}, title)), make("span", {}, ...keys.map(([word, kind]) => key(word, kind))));
  const figure = make("figure", {}, caption, svg, tip);
  let chosen = null;
  let plot = null;

  function redraw() {
    const width = figure.clientWidth;
    if (!width) return;
    plot = frame(svg, { width, height, right }, positions, xLabel, scale);
    draw(plot);
    plot.cursor = shape("line", { class: "cursor", y1: EDGE.top, y2: height - EDGE.bottom, visibility: "hidden" });
    svg.append(plot.cursor);
    if (chosen !== null) choose(chosen);
  }

  function choose(index) {
    chosen = Math.max(0, Math.min(positions.length - 1, index));
    const x = plot.x(positions[chosen]);
    fill(plot.cursor, { x1: x, x2: x, visibility: "visible" }, []);
    const rows = read(chosen).map(([name, value]) => make("tr", {}, make("th", {}, name), make("td", {}, value)));
    tip.replaceChildren(make("table", {}, ...rows));
    tip.hidden = false;
    const wide = tip.offsetWidth;
    tip.style.left = `${x + wide + 14 > figure.clientWidth ? Math.max(0, x - wide - 12) : x + 12}px`;
    tip.style.top = `${svg.getBoundingClientRect().top - figure.getBoundingClientRect().top + EDGE.top}px`;
  }

  function leave() {
    chosen = null;
    tip.hidden = true;
    if (plot) plot.cursor.setAttribute("visibility", "hidden");
  }

  function nearest(event) {
    const x = event.clientX - svg.getBoundingClientRect().left;
    const apart = positions.map((position) => Math.abs(plot.x(position) - x));
    return apart.indexOf(Math.min(...apart));
  }

  svg.addEventListener("pointermove", (event) => plot && choose(nearest(event)));
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  svg.addEventListener("focus", () => plot && svg.matches(":focus-visible") && choose(positions.length - 1));
  svg.addEventListener("keydown", (event) => {
    const last = positions.length - 1;
    const from = chosen ?? last;
    const target = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: last }[event.key];
    if (target === undefined || !plot) return;
    event.preventDefault();
    event.stopPropagation();
    choose(target);
  });
  new ResizeObserver(redraw).observe(figure);
  return figure;
}

function key(word, kind) {
  const sample = shape("svg", { width: 18, height: 8, "aria-hidden": "true" }, shape("line", { class: kind, x1: 2, x2: 16, y1: 4, y2: 4 }));
  return make("span", { class: "key" }, sample, word);
}

function frame(svg, { width, height, right }, positions, xLabel, scale) {
  const first = positions[0], last = positions[positions.length - 1];
  const end = width - right;
  const inner = end - EDGE.left;
  const floor = height - EDGE.bottom;
  const x = (value) => EDGE.left + (last === first ? inner / 2 : ((value - first) / (last - first)) * inner);
  const y = (value) => floor - Math.max(-0.02, Math.min(1.02, scale.at(value))) * (floor - EDGE.top);
  svg.replaceChildren();
  for (const tick of scale.ticks) {
    svg.append(shape("line", { class: "rule", x1: EDGE.left, x2: end, y1: y(tick), y2: y(tick) }));
    svg.append(shape("text", { x: EDGE.left - 7, y: y(tick) + 4, "text-anchor": "end" }, scale.label(tick)));
  }
  const steps = niceTicks(first, last, Math.max(2, Math.min(6, inner / 70))).filter((tick) => Number.isInteger(tick) && tick > first && tick < last);
  const marks = [first, ...steps.filter((tick) => x(tick) - x(first) > 40 && x(last) - x(tick) > 30), ...(last > first ? [last] : [])];
  marks.forEach((tick, index) => {
    const word = index === 0 ? `${xLabel} ${tick}` : String(tick);
    const anchor = index === 0 ? "start" : index === marks.length - 1 ? "end" : "middle";
    svg.append(shape("text", { x: x(tick), y: height - 7, "text-anchor": anchor }, word));
  });
  return { svg, x, y, width, height, floor, end };
}

// A path that breaks where a value is missing.
function path(plot, positions, values, kind) {
  let line = "", pen = "M";
  values.forEach((value, index) => {
    if (value === null) { pen = "M"; return; }
    line += `${pen}${plot.x(positions[index]).toFixed(1)} ${plot.y(value).toFixed(1)}`;
    pen = "L";
  });
  plot.svg.append(shape("path", { class: kind, d: line || "M0 0" }));
}

function say(plot, x, y, words, { anchor = "end", bad = false } = {}) {
  plot.svg.append(shape("text", { class: bad ? "said bad" : "said", x, y, "text-anchor": anchor }, words));
}

// Labels right of the plot, each at its value, moved down where they would overlap.
function sayApart(plot, words) {
  let last = -Infinity;
  for (const [value, word] of words.sort((one, other) => other[0] - one[0])) {
    last = Math.max(plot.y(value) + 4, last + 14);
    say(plot, plot.end + 8, last, word, { anchor: "start" });
  }
}

function curveCharts(curve) {
  const known = (values) => values.filter((value) => value !== null);
  const reading = (index) => [
    ["step", String(curve.steps[index])],
    ["measured", short(curve.values[index])],
    ["reference", short(curve.reference[index])],
    ["difference", short(curve.difference[index])],
    ["allowed", short(curve.allowed[index])],
  ];
  const outside = curve.first_outside;
  const where = outside === null ? null : curve.steps.indexOf(outside);
  const verdict = outside === null ? "inside the envelope at every step" : `outside the envelope from step ${outside}`;
  const common = { positions: curve.steps, xLabel: "step", read: reading };
  return [
    chart({
      ...common, height: 170, title: curve.title, keys: [["measured", "measured"], [curve.against, "reference"]],
      label: `${curve.title} over ${curve.count} steps, measured and reference. Arrow keys read single steps.`,
      scale: linearScale(known([...curve.values, ...curve.reference])),
      draw(plot) {
        path(plot, curve.steps, curve.reference, "reference");
        path(plot, curve.steps, curve.values, "measured");
        if (where !== null && curve.values[where] !== null) ring(plot, curve.steps[where], curve.values[where]);
      },
    }),
    chart({
      ...common, height: 190, title: `Difference to the reference`, keys: [["|difference|", "measured"], ["allowed", "allowed"]],
      label: `${curve.title}: difference to the reference on a logarithmic axis, ${verdict}. Arrow keys read single steps.`,
      scale: logScale(known([...curve.difference, ...curve.allowed])),
      draw(plot) { drawDifference(plot, curve, where); },
    }),
  ];
}

function drawDifference(plot, curve, where) {
  const ends = curve.steps.map((step, index) => [step, curve.allowed[index]]).filter(([, allowed]) => allowed !== null);
  if (ends.length) {
    const line = ends.map(([step, allowed]) => `L${plot.x(step).toFixed(1)} ${plot.y(allowed).toFixed(1)}`).join("");
    const [left, right] = [plot.x(ends[0][0]), plot.x(ends[ends.length - 1][0])];
    plot.svg.append(shape("path", { class: "forbidden", d: `M${left} ${EDGE.top}${line}L${right} ${EDGE.top}Z` }));
  }
  path(plot, curve.steps, curve.allowed, "allowed");
  path(plot, curve.steps, curve.difference, "measured");
  if (where === null) return;
  const at = curve.difference[where];
  ring(plot, curve.steps[where], at ?? Math.max(...ends.map(([, allowed]) => allowed), 1e-16));
  const x = plot.x(curve.steps[where]);
  const left = x < plot.width * 0.55;
  say(plot, left ? x + 9 : x - 9, Math.min(Math.max(plot.y(at ?? 1), EDGE.top) + 20, plot.floor - 4), `leaves at step ${curve.first_outside}`, { anchor: left ? "start" : "end", bad: true });
}

function ring(plot, step, value) {
  plot.svg.append(shape("circle", { class: "ring", cx: plot.x(step), cy: plot.y(value), r: 5 }));
}

function roundsChart(speed) {
  const positions = speed.rounds.map((_, index) => index + 1);
  return chart({
    title: "Ratio of each round, with median and interval", height: 200, xLabel: "round", positions, right: 104,
    label: `Speed ratio of ${speed.rounds.length} rounds against the baseline. ${speed.sentence} Arrow keys read single rounds.`,
    scale: { ...linearScale([...speed.rounds, speed.low, speed.high, 1, ...(speed.floor === null ? [] : [speed.floor])]) },
    read: (index) => [["round", String(index + 1)], ["ratio", speed.rounds[index].toFixed(3)], ["median", speed.ratio.toFixed(3)]],
    draw(plot) {
      const across = (value, kind) => plot.svg.append(shape("line", { class: kind, x1: EDGE.left, x2: plot.end, y1: plot.y(value), y2: plot.y(value) }));
      const band = Math.max(1, plot.y(speed.low) - plot.y(speed.high));
      plot.svg.append(shape("rect", { class: "interval", x: EDGE.left, width: plot.end - EDGE.left, y: plot.y(speed.high), height: band }));
      across(1, "one");
      across(speed.ratio, "measured");
      if (speed.floor !== null) across(speed.floor, "allowed");
      positions.forEach((position, index) => plot.svg.append(shape("circle", { class: "dot", cx: plot.x(position), cy: plot.y(speed.rounds[index]), r: 4 })));
      const words = [[1, "baseline 1×"], [speed.ratio, `median ${speed.ratio.toFixed(2)}×`]];
      if (speed.floor !== null) words.push([speed.floor, `allowed ≥ ${short(speed.floor)}×`]);
      sayApart(plot, words);
    },
  });
}
