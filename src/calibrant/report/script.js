"use strict";
/* Switches between what is drawn already; without this script the page is complete, with the first variant of each drawing. */
const all = (root, what) => [...root.querySelectorAll(what)];

function choose(figure) {
  const chosen = {};
  all(figure, "select").forEach((each) => { chosen[each.name] = each.value; });
  all(figure, "svg g[data-scale]").forEach((part) => {
    part.toggleAttribute("hidden", Object.keys(chosen).some((name) => part.dataset[name] !== undefined && part.dataset[name] !== chosen[name]));
  });
  const bands = figure.querySelector("input[name=bands]");
  figure.querySelector("svg").classList.toggle("plain", Boolean(bands) && !bands.checked);
  const row = chosen.question;
  if (figure.dataset.table) {
    all(document.getElementById(figure.dataset.table), "tbody tr").forEach((each) => {
      each.classList.toggle("chosen", each.dataset.name === row);
    });
  }
}

all(document, "figure.explorer").forEach((figure) => {
  const controls = figure.querySelector(".controls");
  controls.hidden = false;
  controls.addEventListener("input", () => choose(figure));
  if (!figure.dataset.table) return;
  const select = figure.querySelector("select[name=question]");
  const known = new Set([...select.options].map((each) => each.value));
  all(document.getElementById(figure.dataset.table), "tbody tr").forEach((row) => {
    const name = row.dataset.name;
    if (!known.has(name)) return;
    const show = () => { select.value = name; choose(figure); };
    row.tabIndex = 0;
    row.classList.add("choice");
    row.addEventListener("click", show);
    row.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      show();
    });
  });
  choose(figure);
});

/* Arrow keys walk through the points of a drawing, as the pointer does. */
all(document, "svg[role=img]").forEach((svg) => {
  const shown = () => all(svg, ".bin").filter((each) => !each.closest("[hidden]"));
  if (!shown().length) return;
  svg.tabIndex = 0;
  const spoken = document.createElement("p");
  spoken.className = "spoken";
  spoken.setAttribute("role", "status");
  svg.after(spoken);
  const leave = () => all(svg, ".bin.on").forEach((each) => each.classList.remove("on"));
  svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") leave();
    if (!step) return;
    event.preventDefault();
    const bins = shown();
    const at = bins.findIndex((each) => each.classList.contains("on"));
    leave();
    const next = bins[at < 0 ? (step > 0 ? 0 : bins.length - 1) : (at + step + bins.length) % bins.length];
    next.classList.add("on");
    spoken.textContent = next.querySelector(".numbers").textContent;
  });
});

/* Nothing is hidden on paper. */
addEventListener("beforeprint", () => all(document, "details").forEach((each) => {
  each.dataset.was = each.open ? "open" : "";
  each.open = true;
}));
addEventListener("afterprint", () => all(document, "details").forEach((each) => { each.open = each.dataset.was === "open"; }));
