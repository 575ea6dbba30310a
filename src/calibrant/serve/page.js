"use strict";
/* The page of `calibrant serve`. Texts of files and answers enter as text, never as markup. */
const $ = (id) => document.getElementById(id);
const state = { upload: "", name: "", answer: null, measured: null, options: [], limit: 0, asked: null, view: null };

/* Elements: text by textContent, attributes by setAttribute. */
function fill(element, attributes, content) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  for (const each of [content].flat()) if (each !== undefined && each !== null) element.append(each);
  return element;
}
const tag = (name, attributes = {}, content = []) => fill(document.createElement(name), attributes, content);
const svg = (name, attributes = {}, content = []) => fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, content);
const put = (id, ...content) => $(id).replaceChildren(...content);
const show = (id, shown) => { $(id).hidden = !shown; };
const fixed = (x) => x.toFixed(2);

/* Asking: one question at a time; a new one, or Cancel, ends the one before, and its work. */
async function ask(path, request, doing) {
  if (state.asked) state.asked.abort();
  const control = state.asked = new AbortController(), start = Date.now();
  const clock = setInterval(() => { $("doing").textContent = `${doing} ${Math.round((Date.now() - start) / 1000)} s`; }, 500);
  $("doing").textContent = doing;
  show("busy", true); show("error", false); able(false);
  try {
    const reply = await fetch(path, { ...request, signal: control.signal });
    const found = await reply.json();
    if (found.error && state.asked === control) fail(found.error, found.columns);
    return found.error ? null : found;
  } catch (error) {
    if (state.asked === control && error.name !== "AbortError") fail("The server does not answer. Is calibrant serve still running?");
    return null;
  } finally {
    clearInterval(clock);
    if (state.asked === control) { state.asked = null; show("busy", false); able(true); }
  }
}
const able = (yes) => document.querySelectorAll("select, form button").forEach((each) => { each.disabled = !yes; });
const question = (action, more, doing) =>
  ask(action, { method: "POST", body: JSON.stringify({ upload: state.upload, options: chosenOptions(), view: chosenView(), ...more }) }, doing);

function fail(text, columns) {
  put("error", text);
  show("error", true);
  if (columns) { put("columns", ...columns.map((name) => tag("option", { value: name }))); show("reading", true); $("reading").open = true; }
}

/* Uploading and reading */
async function upload(file) {
  if (!file) return;
  for (const id of ["diagnosis", "repairs", "reading", "compared"]) show(id, false);
  state.view = null; $("options").reset(); $("view").replaceChildren(); $("class").replaceChildren(); $("source").textContent = "";
  $("dropped").textContent = file.name;
  if (file.size > state.limit) { fail(`The file is larger than ${state.limit / 1e6} MB. calibrant serve --max-megabytes sets the limit.`); return; }
  if (state.upload) fetch("drop", { method: "POST", body: JSON.stringify({ upload: state.upload }) });
  state.upload = "";
  const headers = { "X-File-Name": encodeURIComponent(file.name), "Content-Type": "application/octet-stream" };
  const found = await ask("upload", { method: "POST", body: file, headers }, "Reading the file …");
  if (!found) return;
  state.upload = found.upload;
  $("drop").classList.add("small");
  await diagnose();
}
function chosenOptions() {
  const given = {};
  for (const { name, kind } of state.options) {
    const input = $(`option-${name}`);
    if (kind === "flag" ? input.checked : input.value) given[name] = kind === "flag" ? true : input.value;
  }
  return given;
}
function chosenView() { return $("view").value === "class" ? `class ${$("class").value}` : $("view").value || "auto"; }

/* The diagnosis */
async function diagnose() {
  const found = await question("diagnose", {}, "Diagnosing …");
  if (!found) { if (state.view) [$("view").value, $("class").value] = state.view; return; }
  state.answer = found; state.measured = null;
  const [verdict, ...rest] = found.sentence.split(". ");
  $("heading").textContent = found.heading;
  $("verdict").textContent = verdict.replace(/\.$/, "") + "."; $("verdict").className = `verdict ${found.colour}`;
  $("numbers").textContent = rest.join(". ");
  $("source").textContent = found.source;
  put("notes", ...Object.entries(found.notes).flatMap(([word, texts]) => [tag("h3", {}, word[0].toUpperCase() + word.slice(1)), tag("ul", {}, texts.map((each) => tag("li", {}, each)))]));
  put("tables", ...found.tables.flatMap(table));
  $("report").open = false; show("report-links", false); show("report-frame", false);
  const ofClasses = Boolean(found.maps);
  for (const id of ["view-label", "estimator-label", "scale", "figure"]) show(id, ofClasses);
  show("reading", true); show("diagnosis", true); show("repairs", ofClasses);
  if (ofClasses) choices(found); else { show("class-label", false); put("measured"); $("report").open = true; }
  state.view = ofClasses ? [$("view").value, $("class").value] : null;
  draw();
}
function choices(found) {
  const several = found.classes.length > 0;
  if (!$("view").options.length) {
    const views = several ? { auto: "top class, and a verdict on all", classwise: "class by class", class: "one class" } : { auto: "the event" };
    put("view", ...Object.entries(views).map(([value, text]) => tag("option", { value }, text)));
    put("class", ...found.classes.map((value) => tag("option", { value }, value)));
    const maps = found.maps.map(({ name, summary }) => tag("label", {}, [fill(tag("input", { type: "checkbox", value: name }), found.chosen.includes(name) ? { checked: "" } : {}), " ", tag("b", {}, name), " ", tag("span", {}, summary)]));
    const first = found.maps.map(({ name }, k) => k < 8 || found.chosen.includes(name));
    put("maps", ...maps.filter((_, k) => first[k])); put("more-maps", ...maps.filter((_, k) => !first[k]));
    put("parts", ...Object.entries(found.shares).map(([value, text]) => tag("option", { value }, `${text} of the rows`)));
  }
  show("view-label", several); show("class-label", $("view").value === "class");
  put("estimator", tag("option", { value: "" }, "those of the diagnosis"), ...found.estimators.map(({ name, title, summary }) => tag("option", { value: name, title: summary }, title)));
  put("measured", ...table(narrow(found.main)));
}
async function measure() {
  const name = $("estimator").value;
  state.measured = name ? await question("measure", { estimator: name }, "Measuring …") : null;
  const shown = state.measured ? state.measured.tables[0] : narrow(state.answer.main);
  put("measured", ...table(shown), ...(state.measured && state.measured.notes.caution || []).map((text) => tag("p", { class: "note" }, text)));
  draw();
}
const narrow = ({ title, columns, rows, note }) => ({ title, note, columns: columns.slice(0, 4), rows: rows.map((row) => row.slice(0, 4)) });
function table({ title, columns, rows, note }) {
  const numeric = columns.map((_, k) => rows.every((row) => /^[<≤\d\s.,+\-−–…%e]*$/.test(row[k])));
  const cells = (name, row) => row.map((text, k) => tag(name, numeric[k] ? { class: "number" } : {}, text));
  const grid = tag("table", {}, [tag("thead", {}, tag("tr", {}, cells("th", columns))), tag("tbody", {}, rows.map((row) => tag("tr", {}, cells("td", row))))]);
  return [tag("h3", {}, title), tag("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, grid), ...(note ? [tag("p", { class: "note" }, note)] : [])];
}
const address = (name, shown) => `file?${new URLSearchParams({ upload: state.upload, name, ...(shown ? { show: 1 } : {}) })}`;
const link = (id, name, shown) => $(id).setAttribute("href", address(name, shown));
async function report() {
  if (!$("report").open || !$("report-frame").hidden) return;
  const found = state.asked ? null : await question("report", {}, "Writing the report …");
  if (!found) { $("report").open = false; return; }
  link("report-open", "report.html", true); link("report-save", "report.html");
  $("report-frame").setAttribute("src", address("report.html", true));
  show("report-links", true); show("report-frame", true);
}

/* Drawing: a unit square of probabilities or of their log-odds, as far as the points reach. */
const SIDE = 400, LEFT = 72, TOP = 12, STRIP = 46;
const logit = (p) => Math.log(p / (1 - p));
function scale(curves, kind) {
  const inside = curves.flatMap(({ x, y }) => x.flatMap((each, k) => [each, y[k]])).filter((p) => p > 0 && p < 1).map(logit);
  if (kind !== "logit" || !inside.length) return { to: (p) => p, ticks: [0, 0.2, 0.4, 0.6, 0.8, 1], all: true };
  const low = Math.min(...inside), high = Math.max(...inside), more = Math.max(0.04 * (high - low), 1 - (high - low) / 2);
  const from = low - more, span = high - low + 2 * more;
  const every = [...Array(15).keys()].map((k) => 10 ** -(k + 1)), known = [...every.toReversed(), 0.05, 0.2, 0.3, 0.5, 0.7, 0.8, 0.95, ...every.slice(0, 8).map((p) => 1 - p)].sort((a, b) => a - b);
  const ticks = known.filter((p) => logit(p) >= from && logit(p) <= from + span), few = ticks.filter((p) => p === 0.5 || every.some((e) => e === p || 1 - e === p));
  return { to: (p) => Math.min(1.1, Math.max(-0.1, (logit(p) - from) / span)), ticks: ticks.length > 7 ? few.filter((p, k) => k % Math.ceil(few.length / 6) === 0) : ticks, all: false };
}
function draw() {
  const found = state.answer;
  if (!found || !found.curves.length) { put("diagram"); return; }
  const curves = state.measured && state.measured.curves.length ? state.measured.curves : found.curves;
  const { to, ticks, all } = scale(curves, document.querySelector("[name=scale]:checked").value);
  const x = (p) => fixed(LEFT + SIDE * to(p)), y = (p) => fixed(TOP + SIDE * (1 - to(p))), drawn = [], inner = [], strip = all && curves.length === 1, bottom = TOP + SIDE + (strip ? STRIP : 0);
  const word = (p) => (p > 0 && p < 1 && Math.min(p, 1 - p) < 0.0009 ? (p < 0.5 ? p.toExponential(0) : `1−${(1 - p).toExponential(0)}`) : String(+p.toFixed(3)));
  for (const p of ticks) {
    drawn.push(svg("line", { class: "grid", x1: LEFT, x2: LEFT + SIDE, y1: y(p), y2: y(p) }), svg("line", { class: "grid", x1: x(p), x2: x(p), y1: TOP, y2: bottom }));
    drawn.push(svg("text", { class: "tick end", x: LEFT - 6, y: +y(p) + 4 }, word(p)), svg("text", { class: "tick middle", x: x(p), y: bottom + 18 }, word(p)));
  }
  const corner = all ? [0, 1] : [ticks[0], ticks.at(-1)];
  drawn.push(svg("line", { class: "ideal", x1: x(corner[0]), y1: y(corner[0]), x2: x(corner[1]), y2: y(corner[1]) }));
  if (strip) for (const [low, high, height] of found.bars) drawn.push(svg("rect", { class: "bars", x: x(low), width: fixed(SIDE * (high - low)), y: bottom - (STRIP - 8) * height, height: (STRIP - 8) * height }));
  let left = 0;
  curves.forEach((curve, c) => {
    const kept = curve.x.map((p, k) => k).filter((k) => all || [curve.x[k], curve.y[k]].every((p) => p > 0 && p < 1));
    left += curve.x.length - kept.length;
    const points = kept.map((k) => `${x(curve.x[k])},${y(curve.y[k])}`), total = curve.support.reduce((a, b) => a + b, 0);
    if (curves.length === 1) inner.push(svg("polygon", { class: `gap c${c}`, points: [...points, ...kept.toReversed().map((k) => `${x(curve.x[k])},${y(curve.x[k])}`)].join(" ") }));
    inner.push(svg("polyline", { class: `line c${c}`, points: points.join(" ") }));
    if (kept.length > 60) return;
    for (const k of kept) {
      const share = curve.support[k] / total, radius = Math.max(1.5, 3.6 * Math.sqrt(share * curve.x.length)), ends = [curve.low[k], curve.high[k]];
      if (curves.length === 1 && ends.every((each) => each !== null)) inner.push(svg("line", { class: `interval c${c}`, x1: x(curve.x[k]), x2: x(curve.x[k]), y1: y(ends[0]), y2: y(ends[1]) }));
      const facts = `predicted ${curve.x[k].toFixed(4)}, observed ${curve.y[k].toFixed(4)}, ${(100 * share).toFixed(1)} % of rows`;
      inner.push(svg("circle", { class: `c${c % 8}`, cx: x(curve.x[k]), cy: y(curve.y[k]), r: fixed(Math.min(radius, 9)) }, svg("title", {}, facts)));
    }
  });
  drawn.push(svg("text", { class: "middle", x: LEFT + SIDE / 2, y: bottom + 40 }, "predicted probability"));
  drawn.push(svg("text", { class: "middle", transform: `translate(13 ${TOP + SIDE / 2}) rotate(-90)` }, "observed frequency"));
  const about = curves.length > 1 ? `${curves.length} classes` : `${curves[0].x.length} points`;
  const clip = svg("clipPath", { id: "inside" }, svg("rect", { x: LEFT - 9, y: TOP - 9, width: SIDE + 18, height: SIDE + 18 }));
  put("diagram", svg("svg", { viewBox: `0 0 ${LEFT + SIDE + 14} ${bottom + 50}`, role: "img", "aria-label": `Reliability diagram: ${about}; the table has the numbers.` }, [clip, ...drawn, svg("g", { "clip-path": "url(#inside)" }, inner)]));
  $("caption").textContent = state.measured && state.measured.curves.length ? `Reliability diagram: ${curves[0].name}` : "Reliability diagram";
  const names = curves.length > 1 ? curves.map(({ name }, c) => tag("li", {}, [svg("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" }, svg("circle", { class: `c${c}`, cx: 7, cy: 7, r: 5 })), name])) : [];
  put("legend", ...names, ...(left ? [tag("li", { class: "note" }, `${left} points at 0 or 1 are not on this scale`)] : []));
}

/* Repairs */
async function compare() {
  const methods = [...document.querySelectorAll("#compare input:checked")].map((each) => each.value);
  const found = await question("compare", { methods, parts: Number($("parts").value), score: $("score").value }, "Fitting and judging …");
  show("compared", Boolean(found));
  if (!found) return;
  $("found").textContent = found.sentence; $("found").className = `verdict ${found.helped ? "fine" : ""}`;
  $("held-out").textContent = found.held_out;
  put("candidates", ...found.tables.flatMap(table), ...Object.entries(found.refused).map(([name, text]) => tag("p", { class: "note" }, `${name} was not fitted: ${text}`)), ...(found.notes.caution || []).map((text) => tag("p", { class: "note" }, text)));
  $("after").textContent = `With ${found.best}, on the rows held out: ${found.after} The choice of ${found.best} was made on these rows too.`;
  changes(found.repairs.filter(({ low }) => low !== null));
  put("downloads", ...found.repairs.map(downloads));
  link("comparison-open", "comparison.html", true); link("comparison-save", "comparison.html");
}
function changes(repairs) {
  const ends = repairs.flatMap(({ low, high }) => [low, high]), low = Math.min(0, ...ends), high = Math.max(0, ...ends), span = (high - low) * 1.08 || 1;
  const x = (v) => fixed(8 + 404 * (v - low + 0.04 * span) / span), rows = 38, end = rows * repairs.length;
  const drawn = [svg("line", { class: "ideal", x1: x(0), x2: x(0), y1: 4, y2: end + 8 }), svg("text", { class: "tick middle", x: x(0), y: end + 24 }, "0")];
  repairs.forEach((each, k) => {
    const at = 30 + rows * k;
    drawn.push(svg("text", { x: 0, y: at - 12 }, each.name), svg("line", { class: "interval c0", x1: x(each.low), x2: x(each.high), y1: at, y2: at }), svg("circle", { class: "c0", cx: x(each.change), cy: at, r: 4.5 }, svg("title", {}, `${each.change}`)));
  });
  put("changes", svg("svg", { viewBox: `0 0 420 ${end + 28}`, role: "img", "aria-label": "Changes with their intervals; the table has the numbers." }, drawn));
}
function downloads({ name, files, no_onnx }) {
  const words = { json: "JSON", py: "Python", onnx: "ONNX" };
  const links = files.map((file) => tag("a", { href: address(file), download: file }, words[file.split(".").pop()]));
  return tag("li", {}, [tag("b", {}, name), ...links, ...(no_onnx ? [tag("button", { type: "button", class: "off", disabled: "", title: no_onnx }, "ONNX"), tag("span", { class: "why" }, no_onnx)] : [])]);
}

/* What listens */
$("file").addEventListener("change", () => { upload($("file").files[0]); $("file").value = ""; });
for (const name of ["dragover", "dragleave", "drop"]) document.addEventListener(name, (event) => {
  event.preventDefault();
  $("drop").classList.toggle("over", name === "dragover");
  if (name === "drop") upload(event.dataTransfer.files[0]);
});
$("cancel").addEventListener("click", () => state.asked && state.asked.abort());
$("options").addEventListener("submit", (event) => { event.preventDefault(); $("view").replaceChildren(); show("compared", false); diagnose(); });
$("view").addEventListener("change", diagnose); $("class").addEventListener("change", diagnose); $("estimator").addEventListener("change", measure);
$("scale").addEventListener("change", draw);
$("compare").addEventListener("submit", (event) => { event.preventDefault(); compare(); });
$("report").addEventListener("toggle", report);
ask("start", {}, "Starting …").then((found) => {
  if (!found) return;
  state.options = found.options; state.limit = found.max_bytes;
  put("fields", ...found.options.map(({ name, kind, metavar, help }) => {
    const input = tag("input", kind === "flag" ? { type: "checkbox", id: `option-${name}` } : { type: "text", id: `option-${name}`, placeholder: metavar, list: "columns", autocomplete: "off" });
    return tag("label", {}, [tag("b", {}, `--${name}`), input, kind === "flag" ? " " : "", help]);
  }));
});
