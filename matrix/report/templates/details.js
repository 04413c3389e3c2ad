// What an opened cell shows, part by part; a part without content is left out.

const OUTCOMES = { pass: "✓", fail: "✗", skip: "–" };

function part(title, ...content) {
  return make("section", {}, make("h3", {}, title), ...content);
}

function cellParts(cell) {
  return [
    cell.reasons.length ? make("section", { "aria-label": "Reasons" }, make("ul", { class: "reasons", "data-tone": cell.verdict }, ...cell.reasons.map((reason) => make("li", {}, reason)))) : null,
    cell.log.length ? part("Decisive lines of the log", make("pre", { class: "log", tabindex: 0, "aria-label": "Log" }, cell.log.join("\n"))) : null,
    cell.facts.length ? make("section", { "aria-label": "Facts" }, make("dl", { class: "facts" }, ...cell.facts.map(fact))) : null,
    cell.checks.length ? part("Checks", checksTable(cell.checks)) : null,
    cell.curves.length ? part("Trajectory", make("div", { class: "pair" }, ...cell.curves.map((curve) => make("div", {}, ...curveCharts(curve))))) : null,
    cell.throughput ? part("Throughput", make("p", { class: "soft" }, cell.throughput.sentence), cell.throughput.rounds.length ? roundsChart(cell.throughput) : null) : null,
    cell.stages.length ? part("Time by stage", stageBars(cell.stages)) : null,
    cell.image ? part("Image", ...imageParts(cell.image)) : null,
    cell.packages.length ? make("section", {}, packageList(cell)) : null,
    cell.digests.length ? part("Digests", make("dl", { class: "digests" }, ...cell.digests.flatMap(([label, digest]) => [make("dt", {}, label), make("dd", {}, digest)]))) : null,
  ].filter(Boolean);
}

function fact([label, value, note]) {
  return make("div", {}, make("dt", {}, label), make("dd", {}, value, note ? make("span", {}, note) : null));
}

function checksTable(checks) {
  const heads = ["Check", "Outcome", "Measured", "Allowed", "Why"].map((name) => make("th", { scope: "col" }, name));
  const rows = checks.map((check) => {
    const outcome = make("span", { class: "verdict", "data-outcome-tone": check.outcome }, make("span", { class: "mark", "aria-hidden": "true" }, OUTCOMES[check.outcome]), check.outcome);
    return make("tr", { "data-check": check.name, "data-outcome": check.outcome },
      make("th", { scope: "row", "data-label": "Check" }, make("span", {}, check.name)),
      make("td", { "data-label": "Outcome" }, outcome),
      make("td", { "data-label": "Measured" }, make("span", {}, check.measured)),
      make("td", { "data-label": "Allowed" }, make("span", {}, check.allowed)),
      make("td", { "data-label": "Why" }, make("span", {}, check.why)));
  });
  return make("table", { class: "plain checks" }, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
}

function bar(share, again) {
  return shape("svg", { height: 10, class: again ? "again" : "", "aria-hidden": "true" }, shape("rect", { width: `${Math.max(0.4, 100 * share)}%`, height: 10, rx: 2 }));
}

function stageBars(stages) {
  const longest = Math.max(...stages.map((stage) => stage.seconds), 1e-9);
  return make("div", { class: "stages" }, ...stages.flatMap((stage) => [
    make("span", {}, stage.name),
    bar(stage.seconds / longest, stage.reused),
    make("span", {}, stage.reused ? `${stage.label}, reused` : stage.label),
  ]));
}

function imageParts(image) {
  const names = [["Name", image.name], ["Base", image.base], ["Id", image.id]];
  return [
    make("p", { class: "soft" }, image.note),
    make("dl", { class: "digests" }, ...names.flatMap(([label, value]) => [make("dt", {}, label), make("dd", {}, value)])),
    make("div", { class: "stages layers" }, ...image.layers.flatMap((layer) => [make("span", {}, layer.name), bar(layer.share), make("span", {}, layer.label)])),
  ];
}

function packageList(cell) {
  const items = cell.packages.map(([name, version]) => make("li", { class: name === cell.framework ? "main" : "" }, make("span", {}, name), make("span", {}, version)));
  const find = make("input", { type: "search", placeholder: "Find packages", autocomplete: "off", spellcheck: "false" });
  find.addEventListener("input", () => {
    const wanted = find.value.trim().toLowerCase();
    items.forEach((item) => { item.hidden = !item.textContent.toLowerCase().includes(wanted); });
  });
  const built = cell.build ? `, build ${cell.build}` : "";
  return make("details", {},
    make("summary", {}, "Lock ", make("span", {}, `${items.length} packages${built}`)),
    make("label", { class: "find" }, make("span", { class: "hidden" }, "Find packages of the lock"), find),
    make("ul", { class: "packages" }, ...items));
}
