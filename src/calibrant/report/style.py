"""The style sheet of the page: light, dark, phone and paper."""

STYLE = """
:root { --paper: #fff; --ink: #1a1e24; --quiet: #59626e; --rule: #dde1e6; --tint: #f5f6f8;
  --over: #c2541a; --under: #2469ad; --bad: #b3331f; --fine: #1b7a4a; --wash: .2; color-scheme: light dark; }
@media screen and (prefers-color-scheme: dark) { :root { --paper: #15181c; --ink: #e6e9ed; --quiet: #9da6b1;
  --rule: #333a42; --tint: #1d2126; --over: #f2935c; --under: #6fb1f0; --bad: #ff8a73; --fine: #5cc890; --wash: .34; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 2rem; max-width: 66rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  -webkit-text-size-adjust: 100%; overflow-wrap: break-word; }
h1 { font-size: 1rem; font-weight: 600; margin: 0 0 1.25rem; color: var(--quiet); }
h1 b { color: var(--ink); }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 3rem 0 .75rem; }
h3 { font-size: 1rem; margin: 1.75rem 0 .5rem; }
p { margin: .5rem 0; max-width: 44rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: 1.5rem 2.5rem; }
.verdict { border-left: 4px solid var(--quiet); padding: .1rem 0 .1rem 1rem; }
.verdict.bad { border-color: var(--bad); } .verdict.fine { border-color: var(--fine); }
.verdict strong { display: block; font-size: 1.75rem; line-height: 1.2; letter-spacing: -.01em; font-weight: 650; text-wrap: balance; }
.verdict small { display: block; font-size: .8125rem; color: var(--quiet); margin-bottom: .15rem; }
.pair .verdict strong { font-size: 1.4rem; }
.quiet, .note, footer { color: var(--quiet); font-size: .875rem; }
figure { margin: 0; }
figcaption { font-weight: 600; }
figcaption span { display: block; font-weight: 400; font-size: .875rem; color: var(--quiet); }
svg { display: block; width: 100%; height: auto; max-width: 34rem; overflow: visible; font-size: 12.5px; fill: var(--ink); pointer-events: none; }
.grid, .floor { stroke: var(--rule); }
.ideal { stroke: var(--quiet); stroke-dasharray: 5 4; }
.tick { fill: var(--quiet); font-variant-numeric: tabular-nums; }
.end { text-anchor: end; } .middle { text-anchor: middle; }
.gap.over { fill: var(--over); } .gap.under { fill: var(--under); } .gap { fill-opacity: var(--wash); }
.bars { fill: var(--quiet); fill-opacity: .45; }
.curve { fill: none; stroke: var(--ink); stroke-opacity: .55; stroke-width: 1.4; stroke-linejoin: round; }
.interval { stroke: var(--ink); stroke-opacity: .45; stroke-width: 1.4; }
.dot { stroke: var(--paper); stroke-width: .8; }
.predicted { stroke: var(--ink); stroke-width: 2; }
.touch { fill: transparent; }
.band { fill: var(--quiet); fill-opacity: .16; pointer-events: none; }
.bar { fill: var(--quiet); fill-opacity: .5; } .bar.over { fill: var(--over); } .bar.under { fill: var(--under); }
.bin:hover .bar { fill-opacity: .75; }
.bin { pointer-events: all; }
.bin .numbers { visibility: hidden; font-size: 11.5px; font-variant-numeric: tabular-nums; }
.bin:hover .numbers { visibility: visible; pointer-events: none; }
.bin:hover .interval { stroke-opacity: 1; stroke-width: 2.4; }
.bin:hover .touch { fill: var(--tint); } .bin:hover .bar + .touch { fill: transparent; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; padding: 0; margin: .75rem 0 0; font-size: .875rem; color: var(--quiet); }
.legend svg { display: inline-block; width: 22px; height: 14px; margin-right: .4rem; vertical-align: -2px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; line-height: 1.4; }
th, td { padding: .3rem 1.75rem .3rem 0; text-align: left; vertical-align: top; white-space: nowrap; }
th:last-child, td:last-child { padding-right: .25rem; }
th { font-weight: 500; color: var(--quiet); border-bottom: 1px solid var(--quiet); }
td { border-bottom: 1px solid var(--rule); }
.number { text-align: right; font-variant-numeric: tabular-nums; }
ul.notes { padding-left: 1.1rem; max-width: 46rem; }
footer { margin-top: 3.5rem; padding-top: .75rem; border-top: 1px solid var(--rule); }
:focus-visible { outline: 2px solid var(--under); outline-offset: 2px; }
@media (max-width: 30rem) { body { padding-top: 1.5rem; } .verdict strong { font-size: 1.4rem; } svg { font-size: 14px; }
  th, td { padding-right: 1rem; } }
@media print { body { max-width: none; padding: 0; font-size: 10.5pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .pair { grid-template-columns: 1fr 1fr; } .scroll { overflow: visible; } h2, h3 { break-after: avoid; }
  figure, tr, .verdict, li { break-inside: avoid; } th, td { padding-top: .15rem; padding-bottom: .15rem; } }
"""
