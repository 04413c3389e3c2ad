// The page: opening cells (the address is the state), filters, theme, tooltips, arrow keys in the grid.

const cells = new Map(JSON.parse(document.getElementById("report-data").textContent).cells.map((cell) => [cell.id, cell]));
const tiles = [...document.querySelectorAll(".tile")];
const dialog = document.getElementById("cell");
const byId = (id) => document.getElementById(id);

function idInAddress() {
  if (!location.hash.startsWith("#cell=")) return null;
  try { return decodeURIComponent(location.hash.slice(6)); } catch { return null; }
}

function follow() {
  const cell = cells.get(idInAddress());
  if (cell) open(cell);
  else if (dialog.open) dialog.close();
}

function open(cell) {
  const mark = tileOf(cell.id)?.querySelector(".mark")?.textContent ?? "";
  const badge = byId("cell-verdict");
  badge.dataset.tone = cell.verdict;
  badge.replaceChildren(make("span", { class: "mark", "aria-hidden": "true" }, mark), cell.verdict);
  byId("cell-title").textContent = cell.id;
  byId("cell-stack").textContent = `${cell.title} · ${cell.spec}`;
  dialog.dataset.opened = cell.id;
  document.body.classList.add("opened");
  if (!dialog.open) dialog.showModal();
  byId("cell-body").replaceChildren(...cellParts(cell));
  dialog.scrollTop = 0;
  byId("cell-title").focus();
  const shown = shownIds();
  const at = shown.indexOf(cell.id);
  byId("previous").disabled = at <= 0;
  byId("next").disabled = at < 0 || at === shown.length - 1;
  tiles.forEach((tile) => tile.classList.toggle("open", tile.dataset.cell === cell.id));
  hideTip();
}

function tileOf(id) {
  return tiles.find((tile) => tile.dataset.cell === id);
}

function shownIds() {
  return tiles.filter((tile) => !tile.closest("td").classList.contains("out")).map((tile) => tile.dataset.cell);
}

function move(by) {
  const shown = shownIds();
  const target = shown[shown.indexOf(dialog.dataset.opened) + by];
  if (target !== undefined) location.replace(`#cell=${encodeURIComponent(target)}`);
}

dialog.addEventListener("close", () => {
  document.body.classList.remove("opened");
  const tile = tileOf(dialog.dataset.opened);
  tiles.forEach((other) => other.classList.remove("open"));
  if (idInAddress() !== null) history.replaceState(null, "", location.pathname + location.search);
  if (tile && !tile.closest("td").classList.contains("out")) tile.focus();
});
dialog.addEventListener("click", (event) => { if (event.target === dialog && event.clientX < dialog.getBoundingClientRect().left) dialog.close(); });
byId("close").addEventListener("click", () => dialog.close());
byId("previous").addEventListener("click", () => move(-1));
byId("next").addEventListener("click", () => move(1));
addEventListener("hashchange", follow);

// Filters

let verdict = "";
const chips = [...document.querySelectorAll(".chip")];

function filter() {
  const wanted = byId("find").value.trim().toLowerCase().split(/\s+/);
  let count = 0;
  for (const tile of tiles) {
    const name = tile.dataset.cell.toLowerCase();
    const shown = (!verdict || tile.dataset.verdict === verdict) && wanted.every((word) => name.includes(word));
    tile.closest("td").classList.toggle("out", !shown);
    count += shown;
  }
  for (const row of document.querySelectorAll("tr[data-row]")) row.hidden = !row.querySelector("td:not(.out) .tile");
  for (const group of document.querySelectorAll(".grid tbody")) group.hidden = !group.querySelector("tr[data-row]:not([hidden])");
  byId("nothing").hidden = count > 0;
  byId("shown").textContent = `${count} of ${tiles.length} cells shown`;
}

function choose(name) {
  verdict = name;
  chips.forEach((chip) => chip.setAttribute("aria-pressed", String(chip.dataset.filter === name)));
  filter();
}

chips.forEach((chip) => chip.addEventListener("click", () => choose(verdict === chip.dataset.filter ? "" : chip.dataset.filter)));
byId("find").addEventListener("input", filter);
byId("show-all").addEventListener("click", () => { byId("find").value = ""; choose(""); });
byId("more")?.addEventListener("click", () => {
  document.querySelectorAll(".findings .more").forEach((item) => { item.hidden = false; });
  byId("more").remove();
});

// Arrow keys go through the grid; Tab still does, too

document.querySelector(".grid").addEventListener("keydown", (event) => {
  const tile = event.target.closest(".tile");
  const [right, down] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [0, 0];
  if (!tile || (!right && !down)) return;
  event.preventDefault();
  const rows = [...document.querySelectorAll("tr[data-row]:not([hidden])")];
  let row = rows.indexOf(tile.closest("tr")), column = tile.closest("td").cellIndex;
  for (;;) {
    row += down;
    column += right;
    const place = rows[row]?.cells[column];
    if (!place || place.tagName !== "TD") return;
    const target = place.querySelector(".tile");
    if (target && !place.classList.contains("out")) { target.focus(); return; }
  }
});

addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((details) => { details.open = true; }));

// Theme: as the system says, or as chosen here

const themes = ["auto", "light", "dark"];

function setTheme(theme) {
  if (theme === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset.theme = theme;
  byId("theme").querySelector("span").textContent = theme;
}

function remembered(theme) {
  try {
    if (theme) localStorage.setItem("stackproof-theme", theme);
    return localStorage.getItem("stackproof-theme");
  } catch { return null; }
}

byId("theme").hidden = false;
byId("theme").addEventListener("click", () => {
  const now = document.documentElement.dataset.theme ?? "auto";
  const theme = themes[(themes.indexOf(now) + 1) % themes.length];
  setTheme(theme);
  remembered(theme);
});
const kept = remembered();
if (themes.includes(kept)) setTheme(kept);

// Tooltips on hover and on focus

const tip = byId("tip");

function showTip(element) {
  tip.textContent = element.dataset.tip;
  tip.hidden = false;
  const place = element.getBoundingClientRect();
  tip.style.left = `${Math.max(16, Math.min(place.left, innerWidth - tip.offsetWidth - 16))}px`;
  const above = place.top - tip.offsetHeight - 8;
  tip.style.top = `${above > 8 ? above : place.bottom + 8}px`;
}

function hideTip() {
  tip.hidden = true;
}

for (const element of document.querySelectorAll("[data-tip]")) {
  element.addEventListener("mouseenter", () => showTip(element));
  element.addEventListener("mouseleave", hideTip);
  element.addEventListener("focus", () => element.matches(":focus-visible") && showTip(element));
  element.addEventListener("blur", hideTip);
}
addEventListener("scroll", hideTip, { passive: true });
addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

follow();
