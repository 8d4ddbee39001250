-- SPDX-License-Identifier: MIT
-- luacheck: no max line length
-- profile.report.script: what makes the page's timeline zoom. Plain JavaScript without libraries; the page is complete
-- without it (a strip of utilisation stands in its place). It reads one JSON element, #data: {t0, t1 (ns), labels,
-- lines: [{at, text}], tracks: [{name, class, items: base64}]}. Items are variable-length integers, four each:
-- start minus the start before it, duration, label, line + 1 (0: no line), times in ns.

return [==[
(function () {
  "use strict";
  var text = document.getElementById("data");
  if (!text) return; // a profile without events has no timeline
  var data = JSON.parse(text.textContent);
  var box = document.getElementById("timeline"), canvas = box.querySelector("canvas"), tip = document.getElementById("tip");
  var pen = canvas.getContext("2d");
  if (!pen) return;
  document.documentElement.classList.add("js");
  var LEFT = 64, GAP = 4, AXIS = 22;

  function unpack(text) {
    var raw = atob(text), n = 0, i, p = 0;
    for (i = 0; i < raw.length; i++) if (raw.charCodeAt(i) < 128) n++;
    n /= 4;
    var t = { start: new Float64Array(n), end: new Float64Array(n), label: new Uint32Array(n), line: new Int32Array(n), n: n };
    function next() {
      var value = 0, scale = 1, byte;
      do { byte = raw.charCodeAt(p++); value += (byte & 127) * scale; scale *= 128; } while (byte > 127);
      return value;
    }
    for (i = 0, n = 0; i < t.n; i++) {
      n += next(); t.start[i] = n; t.end[i] = n + next(); t.label[i] = next(); t.line[i] = next() - 1;
    }
    return t;
  }
  var bottom = AXIS;
  data.tracks.forEach(function (track) { // the sixteen DMA engines are drawn lower than the engines of the core
    track.items = unpack(track.items); track.high = track.engine === "dma" ? 11 : 24; track.top = bottom;
    bottom += track.high + (track.engine === "dma" ? 2 : GAP);
  });

  var t0 = 0, t1 = data.t1 - data.t0, from = t0, to = t1, picked = -1, hover = null, colours = {};
  function palette() {
    var style = getComputedStyle(document.documentElement);
    ["tensor", "vector", "scalar", "gpsimd", "sync", "dma", "text", "soft", "line", "track", "mark"].forEach(function (name) {
      colours[name] = style.getPropertyValue("--" + name).trim();
    });
  }
  function duration(ns) {
    var units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]], i = 0;
    while (i < 3 && Math.abs(ns) < units[i][0]) i++;
    return +(ns / units[i][0]).toPrecision(4) + " " + units[i][1];
  }
  function first(items, time) { // the first item that ends after `time`: items of a track do not overlap much
    var low = 0, high = items.n;
    while (low < high) { var mid = (low + high) >> 1; if (items.start[mid] < time) low = mid + 1; else high = mid; }
    while (low > 0 && items.end[low - 1] > time) low--;
    return low;
  }
  function draw() {
    var width = canvas.clientWidth, ratio = window.devicePixelRatio || 1, height = bottom;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio); canvas.style.height = height + "px";
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    var scale = (width - LEFT) / (to - from), step = Math.pow(10, Math.floor(Math.log10((to - from) / 4)));
    [5, 2].some(function (k) { if ((to - from) / (step * k) >= 4) { step *= k; return true; } return false; });
    pen.font = "11px system-ui, sans-serif"; pen.textBaseline = "middle";
    for (var tick = Math.ceil(from / step) * step; tick <= to; tick += step) {
      var x = LEFT + (tick - from) * scale;
      pen.fillStyle = colours.line; pen.fillRect(x, AXIS - 4, 1, height);
      pen.fillStyle = colours.soft; pen.fillText(duration(tick), x + 3, AXIS / 2);
    }
    var cover = new Float32Array(Math.ceil(width) + 2);
    data.tracks.forEach(function (track) {
      var y = track.top, high = track.high, items = track.items, i, a, b, mine, some = false;
      pen.fillStyle = colours.track; pen.fillRect(LEFT, y, width - LEFT, high);
      cover.fill(0);
      for (i = first(items, from); i < items.n && items.start[i] < to; i++) {
        a = Math.max(LEFT, LEFT + (items.start[i] - from) * scale); b = Math.min(width, LEFT + (items.end[i] - from) * scale);
        mine = picked >= 0 && items.line[i] === picked;
        if (b - a < 2 && !mine) { // too small to see alone: what share of the pixel is busy
          var p = Math.floor(a), q = Math.floor(b);
          if (p === q) cover[p] += b - a; else { cover[p] += p + 1 - a; cover[q] += b - q; if (q > p + 1) cover[p + 1] += 1; }
          some = true;
          continue;
        }
        pen.fillStyle = mine ? colours.mark : colours[track.engine];
        pen.fillRect(a, y, b - a > 3 ? b - a - 0.5 : Math.max(b - a, 1), high);
        if (b - a > 46 && high > 16) {
          pen.fillStyle = "#fff"; pen.save(); pen.beginPath(); pen.rect(a, y, b - a - 3, high); pen.clip();
          pen.fillText(data.labels[items.label[i]], a + 4, y + high / 2); pen.restore();
        }
      }
      if (some) {
        pen.fillStyle = colours[track.engine];
        for (i = LEFT; i < width; i++) if (cover[i] > 0) { pen.globalAlpha = Math.min(1, 0.12 + 0.88 * cover[i]); pen.fillRect(i, y, 1, high); }
        pen.globalAlpha = 1;
      }
      pen.clearRect(0, y, LEFT, high);
      pen.fillStyle = colours.text; pen.fillText(track.name, 2, y + high / 2);
    });
  }
  var waiting = false;
  function redraw() { if (!waiting) { waiting = true; requestAnimationFrame(function () { waiting = false; draw(); }); } }
  function view(a, b) {
    var least = 20, span = Math.min(Math.max(b - a, least), t1 - t0);
    a = Math.min(Math.max(a, t0), t1 - span); from = a; to = a + span; redraw();
  }
  function zoom(factor, x) {
    var at = from + (Math.max(x, LEFT) - LEFT) / (canvas.clientWidth - LEFT) * (to - from);
    view(at - (at - from) * factor, at + (to - at) * factor);
  }
  function under(x, y) {
    var track = data.tracks.find(function (one) { return y >= one.top && y < one.top + one.high + 2; });
    if (!track || x < LEFT) return null;
    var per = (to - from) / (canvas.clientWidth - LEFT), time = from + (x - LEFT) * per, items = track.items;
    for (var i = first(items, time - per); i < items.n && items.start[i] <= time + per; i++)
      if (items.end[i] >= time - per) return { track: track, i: i };
    return null;
  }
  function show(hit, x, y) {
    if (!hit) { tip.style.display = "none"; return; }
    var items = hit.track.items, i = hit.i, line = data.lines[items.line[i]], out = [];
    tip.textContent = "";
    out.push(data.labels[items.label[i]] + " · " + duration(items.end[i] - items.start[i]) + " at " + duration(items.start[i]));
    if (line) { out.push(line.at); out.push(line.text.trim()); }
    out.forEach(function (text, k) {
      var part = document.createElement(k === 2 ? "code" : "div"); part.textContent = text; tip.appendChild(part);
    });
    tip.style.display = "block";
    tip.style.left = Math.min(x + 12, Math.max(0, canvas.clientWidth - tip.offsetWidth - 4)) + "px"; tip.style.top = (y + 46) + "px";
  }
  function pick(line, scroll) {
    var rows = document.querySelectorAll("tr.picked"), k;
    for (k = 0; k < rows.length; k++) rows[k].classList.remove("picked");
    picked = picked === line ? -1 : line;
    var row = picked >= 0 && document.querySelector('tr[data-line="' + picked + '"]');
    if (row) { row.classList.add("picked"); if (scroll) row.scrollIntoView({ block: "center" }); }
    redraw();
  }

  var pointers = {}, moved = 0;
  function place(e) { var r = canvas.getBoundingClientRect(); return { x: e.clientX - r.left, y: e.clientY - r.top }; }
  canvas.addEventListener("wheel", function (e) {
    if (!e.ctrlKey && !e.shiftKey && Math.abs(e.deltaX) < Math.abs(e.deltaY) && document.activeElement !== canvas) return; // the page scrolls until the timeline is chosen
    e.preventDefault();
    if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) { var d = e.deltaX / (canvas.clientWidth - LEFT) * (to - from); view(from + d, to + d); }
    else zoom(Math.exp(e.deltaY * 0.0016), place(e).x);
  }, { passive: false });
  canvas.addEventListener("pointerdown", function (e) { canvas.focus(); canvas.setPointerCapture(e.pointerId); pointers[e.pointerId] = place(e); moved = 0; });
  canvas.addEventListener("pointermove", function (e) {
    var p = place(e), ids = Object.keys(pointers), was = pointers[e.pointerId];
    if (was) {
      if (ids.length === 2) {
        var other = pointers[ids[0] === String(e.pointerId) ? ids[1] : ids[0]];
        var before = Math.max(8, Math.abs(was.x - other.x)), after = Math.max(8, Math.abs(p.x - other.x));
        zoom(before / after, (p.x + other.x) / 2);
      } else { var d = (was.x - p.x) / (canvas.clientWidth - LEFT) * (to - from); view(from + d, to + d); }
      moved += Math.abs(p.x - was.x); pointers[e.pointerId] = p; show(null);
    } else { hover = under(p.x, p.y); show(hover, p.x, p.y); }
  });
  function up(e) {
    var p = place(e), hit = moved < 4 && pointers[e.pointerId] && under(p.x, p.y);
    delete pointers[e.pointerId];
    if (hit) { show(hit, p.x, p.y); pick(hit.track.items.line[hit.i], false); }
  }
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", function (e) { delete pointers[e.pointerId]; });
  canvas.addEventListener("pointerleave", function () { show(null); });
  canvas.addEventListener("keydown", function (e) {
    var span = to - from, middle = LEFT + (canvas.clientWidth - LEFT) / 2;
    var acts = { ArrowLeft: function () { view(from - span / 5, to - span / 5); }, ArrowRight: function () { view(from + span / 5, to + span / 5); },
      ArrowUp: function () { zoom(0.6, middle); }, ArrowDown: function () { zoom(1.6, middle); }, "+": function () { zoom(0.6, middle); },
      "-": function () { zoom(1.6, middle); }, "0": function () { view(t0, t1); }, Home: function () { view(t0, t1); } };
    if (acts[e.key]) { e.preventDefault(); acts[e.key](); }
  });
  function button(id, act) { document.getElementById(id).addEventListener("click", act); }
  button("zoom-in", function () { zoom(0.5, LEFT + (canvas.clientWidth - LEFT) / 2); });
  button("zoom-out", function () { zoom(2, LEFT + (canvas.clientWidth - LEFT) / 2); });
  button("zoom-all", function () { view(t0, t1); });
  document.querySelectorAll("tr[data-line]").forEach(function (row) {
    row.addEventListener("click", function () { pick(+row.getAttribute("data-line"), false); });
  });
  if (window.matchMedia) {
    var dark = window.matchMedia("(prefers-color-scheme: dark)");
    if (dark.addEventListener) dark.addEventListener("change", function () { palette(); redraw(); });
  }
  window.addEventListener("resize", redraw);
  palette(); draw();
  document.documentElement.setAttribute("data-ready", String(Math.round(performance.now())));
})();
]==]
