-- SPDX-License-Identifier: MIT
-- luacheck: no max line length
-- profile.report.style: the style sheet of the report page. Light and dark follow the reader's system; one column on a phone.

return [==[
:root {
  color-scheme: light dark;
  --bg: #fbfbfa; --panel: #fff; --text: #1c1e21; --soft: #5b626b; --line: #dcdfe3; --track: #eef0f2; --accent: #0b62a4; --heat: 214, 84, 0;
  --tensor: #0b62a4; --vector: #1a8a5a; --scalar: #b8860b; --gpsimd: #8a4fb0; --sync: #7a828c; --dma: #d65400; --warn: #a33a00; --mark: #c2185b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #14171a; --panel: #1c2024; --text: #e6e8ea; --soft: #9aa4ae; --line: #343a41; --track: #262b30; --accent: #6cb2f0; --heat: 255, 140, 60;
    --tensor: #5aa9f0; --vector: #4cc38a; --scalar: #e3b341; --gpsimd: #bf8be0; --sync: #8b949e; --dma: #ff8c4a; --warn: #ffb080; --mark: #ff6fa3;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--text); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 20px 18px 60px; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 0 0 10px; }
section { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 16px 18px; margin: 16px 0; }
p { margin: 0 0 8px; } small, .soft { color: var(--soft); }
.badge { display: inline-block; border: 1px solid currentColor; border-radius: 20px; padding: 0 10px; font-size: 13px; color: var(--warn); vertical-align: 3px; white-space: nowrap; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(148px, 1fr)); gap: 10px; margin: 16px 0; }
.tile { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
.tile b { display: block; font-size: 21px; line-height: 1.3; font-variant-numeric: tabular-nums; }
.two { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; } .two > section { margin: 0; min-width: 0; }
.bars { display: grid; grid-template-columns: minmax(90px, 260px) 1fr max-content; gap: 5px 12px; align-items: center; }
.bars h3 { grid-column: 1 / -1; font-size: 14px; margin: 8px 0 0; }
.bar { height: 15px; background: var(--track); border-radius: 3px; overflow: hidden; }
.bar i { display: block; height: 100%; background: var(--accent); min-width: 1px; }
.num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.e-tensor { --c: var(--tensor); } .e-vector { --c: var(--vector); } .e-scalar { --c: var(--scalar); }
.e-gpsimd { --c: var(--gpsimd); } .e-sync { --c: var(--sync); } .e-dma { --c: var(--dma); }
.bar.e-tensor i, .bar.e-vector i, .bar.e-scalar i, .bar.e-gpsimd i, .bar.e-sync i, .bar.e-dma i { background: var(--c); }
.key { display: inline-block; width: 10px; height: 10px; border-radius: 2px; background: var(--c); margin-right: 5px; }
.finding { border-left: 3px solid var(--dma); padding: 2px 0 2px 12px; margin: 0 0 14px; }
.finding h3 { font-size: 15px; margin: 0 0 4px; } .finding ul { margin: 4px 0; padding-left: 18px; }
code, pre, .code { font: 13px/1.45 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.change { margin-top: 4px; } .change::before { content: "→ "; color: var(--accent); }
.scroll { overflow-x: auto; }
table.source { border-collapse: collapse; width: 100%; ; }
table.source th { text-align: right; font-weight: 500; color: var(--soft); padding: 2px 8px; border-bottom: 1px solid var(--line); font-size: 13px; }
table.source th.left { text-align: left; }
table.source td { padding: 0 8px; white-space: pre; } table.source td:first-child, table.source th:first-child { padding-left: 0; }
table.source th .key { margin-right: 3px; } table.source th { white-space: nowrap; }
table.source td.n { color: var(--soft); text-align: right; width: 1%; user-select: none; }
table.source td.v { text-align: right; font-variant-numeric: tabular-nums; width: 1%; }
table.source tr.hot { cursor: pointer; } table.source tr:target, table.source tr.picked { outline: 2px solid var(--mark); outline-offset: -2px; }
table.plain { border-collapse: collapse; } table.plain td,
  table.plain th { padding: 2px 16px 2px 0; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--soft); font: 12px system-ui,
  sans-serif; } svg .strong { fill: var(--text); font-weight: 600; }
.grid { stroke: var(--line); stroke-width: 1; fill: none; } .roof { stroke: var(--accent); stroke-width: 2; fill: none; }
.roof.practical { stroke-dasharray: 5 4; } .point { fill: var(--dma); } .drop { stroke: var(--dma); stroke-dasharray: 2 3; }
.area { fill: var(--vector); fill-opacity: .3; stroke: var(--vector); stroke-width: 1.2; vector-effect: non-scaling-stroke; }
.area.psum { fill: var(--gpsimd); stroke: var(--gpsimd); }
.strip rect { fill: var(--c); }
#timeline { display: none; position: relative; } .js #timeline { display: block; } .js #strip { display: none; }
#timeline canvas { width: 100%; display: block; touch-action: none; cursor: grab; border: 1px solid var(--line); border-radius: 4px; }
#timeline canvas:focus-visible { outline: 2px solid var(--accent); }
#tip { position: absolute; pointer-events: none; display: none; background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: 6px 10px;
  box-shadow: 0 3px 12px rgba(0, 0, 0, .25); max-width: min(460px, 90%); font-size: 13px; z-index: 2; overflow-wrap: anywhere; }
.tools { display: flex; gap: 8px; flex-wrap: wrap; align-items: center; margin-bottom: 8px; }
button { font: inherit; font-size: 13px; color: var(--text); background: var(--track); border: 1px solid var(--line); border-radius: 6px; padding: 3px 12px; cursor: pointer; }
@media (max-width: 720px) {
  main { padding: 14px 12px 40px; } .two { grid-template-columns: 1fr; } section { padding: 12px; }
  .bars { grid-template-columns: 1fr max-content; } .bars .bar { grid-column: 1 / -1; grid-row: auto; order: 0; } h1 { font-size: 20px; }
  .bars > .name { grid-column: 1; } .bars > .num { grid-column: 2; } .bars > .bar { margin-bottom: 4px; }
}
@media print { #timeline { display: none !important; } #strip { display: block !important; } section { break-inside: avoid; } }
]==]
