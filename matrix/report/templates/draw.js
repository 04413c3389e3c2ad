// Drawing primitives. Text only ever enters the page through textContent, so nothing in a report can become markup.

function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function shape(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function short(value) {
  if (value === null || value === undefined) return "not finite";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e-3 && size < 1e5 ? String(Number(value.toPrecision(4))) : value.toExponential(1);
}

function niceTicks(low, high, wanted) {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) ticks.push(Number(tick.toPrecision(12)));
  return ticks;
}

function linearScale(values, wanted = 4) {
  let low = Math.min(...values), high = Math.max(...values);
  if (!Number.isFinite(low)) [low, high] = [0, 1];
  const pad = (high - low) * 0.06 || Math.abs(high) * 0.05 || 1;
  [low, high] = [low - pad, high + pad];
  return { at: (value) => (value - low) / (high - low), ticks: niceTicks(low, high, wanted), label: short };
}

// Zeros cannot stand on a logarithmic axis: they are drawn on its floor, one decade below the smallest number.
function logScale(values) {
  const logs = values.filter((value) => value > 0).map(Math.log10);
  const low = Math.floor(Math.min(...logs, logs.length ? Infinity : -17)) - (values.includes(0) ? 1 : 0);
  const high = Math.max(Math.ceil(Math.max(...logs, logs.length ? -Infinity : -16)), low + 1);
  const stride = Math.ceil((high - low) / 4);
  const ticks = [];
  for (let power = high; power >= low; power -= stride) ticks.push(10 ** power);
  return {
    at: (value) => (value > 0 ? (Math.log10(value) - low) / (high - low) : 0),
    ticks,
    label: (value) => `1e${Math.round(Math.log10(value))}`,
  };
}
