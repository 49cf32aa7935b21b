"use strict";
// The page of a recording. Its data stand before this script, in blocks that are read when they are needed: `head` (of which run, and
// what it comes to), `sN` (times, tasks and kinds of rows, as columns), `rN` (the rows whole) and `pN` (messages and other parts that
// rows share, each with the number of the row that has it first). Texts of the data become text nodes only, never markup.

const byId = (id) => document.getElementById(id);
const block = (id) => JSON.parse(byId(id).textContent);
const head = block("head");
const ROW = 24, TALLEST = 8_000_000, LANE = 18, LABEL = 96, KEPT = 60;
const GROUPS = ["emit", "quiet", "model", "tool", "wait", "other"]; // how kinds are drawn
const STATE = { failed: 1, again: 2, effect: 4, inner: 8, quiet: 16 };

// ---------------------------------------------------------------- the data

const count = head.rows;
const starts = new Float64Array(count), ends = new Float64Array(count);
const taskOf = new Int32Array(count), kindOf = new Int16Array(count), flags = new Uint8Array(count);
for (let b = 0, at = 0; b < head.blocks.length; b++) {
  const columns = block("s" + b), size = columns.t0.length;
  starts.set(columns.t0, at); ends.set(columns.t1, at); taskOf.set(columns.task, at); kindOf.set(columns.kind, at);
  flags.set(columns.flags, at);
  at += size;
}

const kept = new Map(); // blocks that were read, the last used ones
function read(id) {
  let data = kept.get(id);
  if (data === undefined) data = block(id); else kept.delete(id);
  kept.set(id, data);
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return data;
}
function find(firsts, n) { // the last block that begins at n or before
  let low = 0, high = firsts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (firsts[middle] <= n) low = middle; else high = middle - 1;
  }
  return low;
}
function rowOf(n) { const b = find(head.blocks, n); return read("r" + b)[n - head.blocks[b]]; }
function partOf(n) { const b = find(head.parts, n); return read("p" + b)[n - head.parts[b]][1]; }
const messagesOf = (row) => (row.q.messages || []).map(partOf);

// ---------------------------------------------------------------- small things

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
const seconds = (ms) => (ms / 1000).toFixed(3);
function span(ms) {
  if (ms < 1000) return Math.round(ms) + " ms";
  return ms < 120000 ? (ms / 1000).toFixed(2) + " s" : (ms / 60000).toFixed(1) + " min";
}
const grouped = (n) => n.toLocaleString("en");

// ---------------------------------------------------------------- which rows are shown

let shown = new Int32Array(0); // the numbers of the rows in the list, in order
let selected = -1; // the number of a row
let hits = null; // of a search, else null
const CHOICES = [
  ["all", "what happened", (n) => (flags[n] & STATE.inner) === 0],
  ["model", "calls of models", (n) => head.kinds[kindOf[n]] === "model"],
  ["effects", "all effects", (n) => (flags[n] & STATE.effect) !== 0 && (flags[n] & STATE.inner) === 0],
  ["emits", "emits", (n) => GROUPS[head.groups[kindOf[n]]] === "emit"],
  ["failed", "failures", (n) => (flags[n] & STATE.failed) !== 0],
  ["again", "retries and schema attempts", (n) => (flags[n] & STATE.again) !== 0],
  ["rows", "every row, also pieces and deliveries", () => true],
];
for (const [value, name] of CHOICES) byId("show").append(element("option", { value }, name));

function choose() {
  const fits = CHOICES.find((choice) => choice[0] === byId("show").value)[2];
  const from = hits, size = from ? from.length : count;
  const found = new Int32Array(size);
  let length = 0;
  for (let i = 0; i < size; i++) {
    const n = from ? from[i] : i;
    if (fits(n)) found[length++] = n;
  }
  shown = found.subarray(0, length);
  byId("found").textContent = length === count ? grouped(count) + " rows" : grouped(length) + " of " + grouped(count) + " rows";
  placeOf(selected) < 0 ? select(shown.length ? shown[0] : -1) : select(selected);
}
function placeOf(n) {
  let low = 0, high = shown.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (shown[middle] === n) return middle;
    if (shown[middle] < n) low = middle + 1; else high = middle - 1;
  }
  return -1;
}

// ---------------------------------------------------------------- the list, of which only what is seen is there

const list = byId("list"), space = byId("space"), pool = new Map();
// A browser has no taller elements than some millions of pixels; beyond that the list scrolls faster than its bar.
const tall = () => Math.min(shown.length * ROW, TALLEST);
const stretch = () => {
  const most = tall() - list.clientHeight;
  return most > 0 ? (shown.length * ROW - list.clientHeight) / most : 1;
};

function drawList() {
  space.style.height = tall() + "px";
  const top = list.scrollTop, offset = top * stretch() - top; // of a row's place, where the list is stretched
  const first = Math.max(Math.floor((top + offset) / ROW) - 4, 0);
  const last = Math.min(first + Math.ceil(list.clientHeight / ROW) + 8, shown.length);
  const wanted = new Set();
  for (let place = first; place < last; place++) wanted.add(shown[place]);
  for (const [n, node] of pool) if (!wanted.has(n)) { node.remove(); pool.delete(n); }
  for (let place = first; place < last; place++) {
    const n = shown[place];
    let node = pool.get(n);
    if (node === undefined) {
      node = lineOf(n);
      pool.set(n, node);
      space.append(node);
    }
    node.style.top = place * ROW - offset + "px";
    node.setAttribute("aria-posinset", place + 1);
    node.setAttribute("aria-setsize", shown.length);
    node.setAttribute("aria-selected", n === selected);
  }
  if (pool.has(selected)) list.setAttribute("aria-activedescendant", "row-" + selected);
  else list.removeAttribute("aria-activedescendant");
}

function lineOf(n) {
  const row = rowOf(n), group = GROUPS[head.groups[kindOf[n]]];
  const node = element("div", { class: "row " + (flags[n] & STATE.quiet ? "quiet" : group) + (flags[n] & STATE.failed ? " bad" : ""), role: "option", id: "row-" + n });
  const cells = [["at", seconds(starts[n])], ["task", head.tasks[taskOf[n]]], ["what", row.title], ["meta", row.meta || ""]];
  for (const [name, text] of cells) node.append(element("span", { class: name }, text));
  node.addEventListener("click", () => select(n));
  return node;
}

function select(n, scrolls = true) {
  selected = n;
  const place = placeOf(n);
  if (place >= 0 && scrolls) {
    const at = place * ROW, seen = list.scrollTop * stretch();
    if (at < seen) list.scrollTop = at / stretch();
    else if (at + ROW > seen + list.clientHeight) list.scrollTop = (at + ROW - list.clientHeight) / stretch();
  }
  drawList();
  drawDetail();
  showLane();
}
function move(by) {
  const place = placeOf(selected);
  if (shown.length) select(shown[Math.min(Math.max(place < 0 ? 0 : place + by, 0), shown.length - 1)]);
}

// ---------------------------------------------------------------- one row whole

function drawDetail() {
  const detail = byId("detail");
  detail.replaceChildren();
  detail.scrollTop = 0;
  if (selected < 0) { detail.append(element("p", {}, "No row.")); return; }
  const row = rowOf(selected);
  byId("detail-title").textContent = "Row " + (selected + 1) + (row.key ? ", effect " + row.key : "");
  const facts = element("dl");
  for (const [name, text] of factsOf(row)) facts.append(element("dt", {}, name), element("dd", {}, text));
  detail.append(facts);
  if (row.at) detail.append(sourceOf(row.at));
  if (row.memory) detail.append(element("h3", {}, "Memory"), element("ul", {}, ...row.memory.map((text) => element("li", {}, text))));
  if (row.f && row.f.model !== undefined) callOf(detail, row);
  else otherOf(detail, row);
}

function* factsOf(row) {
  yield ["kind", head.kinds[kindOf[selected]] + (row.s && row.s !== "done" ? ", " + row.s : "")];
  if (head.tasks[taskOf[selected]]) yield ["task", head.tasks[taskOf[selected]]];
  yield ["time", seconds(starts[selected]) + " s" + (ends[selected] > starts[selected] ? ", for " + span(ends[selected] - starts[selected]) : "")];
  const f = row.f || {};
  if (f.model !== undefined) {
    yield ["model", f.model + " on " + f.connection];
    yield ["call", f.call + (f.attempt > 1 ? ", attempt " + f.attempt : "") + (f.schema_attempt > 1 ? ", schema attempt " + f.schema_attempt : "")];
    if (row.tokens) yield ["tokens", row.tokens];
    yield ["size", grouped(f.bytes) + " bytes, " + (f.shared === undefined ? "the first of its model" : Math.floor((100 * f.shared) / Math.max(f.bytes, 1)) + " % as row " + (f.earlier + 1))];
    if (f.pieces) yield ["pieces", f.pieces + ", the first after " + span(f.first_ms)];
    if (f.because) yield [f.why === "retry" ? "again after" : "taken over", (f.after_ms !== undefined ? span(f.after_ms) + ": " : "") + f.because];
  }
  if (row.cost !== undefined) yield ["cost", "$" + row.cost];
  if (row.failure) yield ["failure", row.failure];
}

// The lines of the source around the place of an effect.
function sourceOf([file, line]) {
  const lines = (head.sources || {})[file] || [], box = element("div");
  box.append(element("h3", {}, "Source, " + file + ":" + line));
  if (lines.length < line) return box;
  const first = Math.max(line - 4, 0), shows = lines.slice(first, line + 3), pre = element("pre", { class: "source", tabindex: "0" });
  shows.forEach((text, i) => {
    const shown = String(first + i + 1).padStart(5) + "  " + text + "\n";
    pre.append(first + i + 1 === line ? element("mark", {}, shown) : shown);
  });
  box.append(pre);
  return box;
}

function callOf(detail, row) {
  const f = row.f, other = f.before !== undefined ? f.before : f.earlier;
  const before = other === undefined ? null : rowOf(other);
  const sides = element("div", { class: "sides" }), left = element("div"), right = element("div");
  sides.append(left, right);
  left.append(element("h3", {}, before && f.why !== "first" ? "Request, against row " + (other + 1) : "Request"));
  right.append(element("h3", {}, before && f.why === "schema" ? "Reply, against row " + (other + 1) : "Reply"));
  const now = messagesOf(row), then = before && before.q ? messagesOf(before) : [];
  const refs = row.q.messages || [], old = before && before.q ? before.q.messages || [] : [];
  let same = 0;
  while (same < refs.length && same < old.length && refs[same] === old[same]) same++;
  if (same) {
    const earlier = element("details", {}, element("summary", {}, same + (same === 1 ? " message" : " messages") + " as in row " + (other + 1)));
    earlier.addEventListener("toggle", () => {
      if (earlier.open && earlier.childElementCount === 1) for (const message of now.slice(0, same)) earlier.append(said(message));
    });
    left.append(earlier);
  }
  for (let i = same; i < now.length; i++) left.append(said(now[i], f.why === "schema" && i === now.length - 1 && then[i] ? then[i].content : undefined));
  for (const [name, ref] of [["tools", row.q.tools], ["hosted tools", row.q.hosted], ["schema", row.q.schema], ["parameters", row.q.params]])
    if (ref !== undefined) left.append(folded(name, partOf(ref)));
  const result = row.r || {};
  if (row.failure) right.append(noted("failure", row.failure, "bad"));
  if (result.thoughts) right.append(noted("reasoning", asText(result.thoughts)));
  if (typeof result.text === "string" || !result.calls) {
    const against = f.why === "schema" && before && before.r && typeof before.r.text === "string" ? before.r.text : undefined;
    if (result.text !== undefined) right.append(noted("assistant", result.text, "", against));
  }
  for (const call of Array.isArray(result.calls) ? result.calls : []) right.append(noted("calls " + asText(call[1]), asText(call[2] === null ? call[3] : call[2])));
  right.append(folded("everything", result));
  detail.append(sides);
}

function otherOf(detail, row) {
  if (row.q !== undefined && row.q !== null) detail.append(element("h3", {}, "Request"), element("pre", {}, asText(row.q)));
  if (row.r !== undefined && row.r !== null) detail.append(element("h3", {}, "Result"), element("pre", {}, asText(row.r)));
  if (row.v !== undefined) detail.append(element("h3", {}, row.channel === undefined ? "Value" : "Channel " + row.channel), element("pre", {}, asText(row.v)));
}

function said(message, before) {
  const name = message.role + (message.call_id ? " " + message.call_id : "") + (message.is_error ? ", an error" : "");
  const node = noted(name, asText(message.content === undefined ? "" : message.content), message.is_error ? "bad" : "", before);
  for (const call of Array.isArray(message.calls) ? message.calls : []) node.append(element("pre", {}, "calls " + asText(call.name) + " " + asText(call.arguments)));
  if (message.media) node.append(folded("media", message.media));
  return node;
}
function noted(name, text, look = "", before = undefined) {
  const pre = element("pre");
  if (before === undefined || before === text) pre.append(text);
  else for (const [kind, part] of differences(asText(before), text)) pre.append(kind ? element(kind, {}, part) : part);
  return element("div", { class: ("said " + look).trim() }, element("b", {}, name), pre);
}
function folded(name, value) {
  const node = element("details", {}, element("summary", {}, name));
  node.addEventListener("toggle", () => { if (node.open && node.childElementCount === 1) node.append(element("pre", {}, asText(value))); });
  return node;
}

// Pairs of "" (in both), "del" or "ins", and a piece of text: by words, in large texts by lines.
function differences(before, after) {
  const cut = (text, by) => text.match(by) || [];
  let one = cut(before, /\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu), two = cut(after, /\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu);
  if (one.length * two.length > 4e6) { one = cut(before, /[^\n]*\n|[^\n]+/g); two = cut(after, /[^\n]*\n|[^\n]+/g); }
  let begin = 0, oneEnd = one.length, twoEnd = two.length;
  while (begin < oneEnd && begin < twoEnd && one[begin] === two[begin]) begin++;
  while (oneEnd > begin && twoEnd > begin && one[oneEnd - 1] === two[twoEnd - 1]) { oneEnd--; twoEnd--; }
  const pairs = [["", one.slice(0, begin).join("")]];
  const a = one.slice(begin, oneEnd), b = two.slice(begin, twoEnd), width = b.length + 1;
  if (a.length * b.length > 4e6) pairs.push(["del", a.join("")], ["ins", b.join("")]);
  else {
    const longest = new Uint16Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i--)
      for (let j = b.length - 1; j >= 0; j--)
        longest[i * width + j] = a[i] === b[j] ? longest[(i + 1) * width + j + 1] + 1 : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    let i = 0, j = 0;
    const push = (kind, text) => { const end = pairs[pairs.length - 1]; if (end[0] === kind) end[1] += text; else pairs.push([kind, text]); };
    while (i < a.length || j < b.length) {
      if (i < a.length && j < b.length && a[i] === b[j]) { push("", a[i++]); j++; }
      else if (i < a.length && (j === b.length || longest[(i + 1) * width + j] >= longest[i * width + j + 1])) push("del", a[i++]);
      else push("ins", b[j++]);
    }
  }
  pairs.push(["", one.slice(oneEnd).join("")]);
  return pairs.filter((pair) => pair[1]);
}

// ---------------------------------------------------------------- search

let searching = 0; // counts searches: one that a newer one has followed stops
function search() {
  const mine = ++searching, text = byId("search").value.toLowerCase();
  document.documentElement.dataset.searched = "";
  if (!text) { hits = null; choose(); document.documentElement.dataset.searched = "done"; return; }
  // The raw text of a block is looked at first: most blocks have nothing.
  const raw = JSON.stringify(text).slice(1, -1).replace(/[<>&\u2028\u2029]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
  const found = new Set();
  const has = (value) => {
    if (typeof value === "string") return value.toLowerCase().includes(text);
    if (value === null || typeof value !== "object") return typeof value === "number" && String(value) === text;
    return Object.values(value).some(has);
  };
  const work = [...head.blocks.map((first, b) => ["r", b, first]), ...head.parts.map((first, b) => ["p", b, first])];
  let next = 0;
  const slice = () => {
    if (mine !== searching) return;
    const until = performance.now() + 30;
    while (next < work.length && performance.now() < until) {
      const [letter, b, first] = work[next++], source = byId(letter + b).textContent;
      if (!source.toLowerCase().includes(raw)) continue;
      const data = JSON.parse(source);
      data.forEach((entry, i) => {
        if (letter === "p" ? has(entry[1]) : has(entry)) found.add(letter === "p" ? entry[0] : first + i);
      });
    }
    if (next < work.length) { byId("found").textContent = "searching …"; setTimeout(slice, 0); return; }
    hits = Int32Array.from(found).sort();
    choose();
    document.documentElement.dataset.searched = "done";
  };
  slice();
}

// ---------------------------------------------------------------- the timeline

const lanes = byId("lanes"), canvas = byId("canvas");
// A lane has the rows of a task; what belongs to no task has one of its own. Rows by lane, as one array with the places where lanes begin.
const paths = head.tasks.map((name, i) => [name ? name.split(".").map(Number) : [-1], i]);
paths.sort((a, b) => {
  for (let i = 0; i < Math.min(a[0].length, b[0].length); i++) if (a[0][i] !== b[0][i]) return a[0][i] - b[0][i];
  return a[0].length - b[0].length;
});
const laneOfTask = new Int32Array(head.tasks.length), taskOfLane = paths.map((path) => path[1]);
taskOfLane.forEach((task, lane) => { laneOfTask[task] = lane; });
const laneStarts = new Int32Array(head.tasks.length + 1), inLanes = new Int32Array(count);
for (let n = 0; n < count; n++) laneStarts[laneOfTask[taskOf[n]] + 1]++;
for (let lane = 0; lane < head.tasks.length; lane++) laneStarts[lane + 1] += laneStarts[lane];
for (let n = 0, at = laneStarts.slice(); n < count; n++) inLanes[at[laneOfTask[taskOf[n]]]++] = n;

const lastTime = Math.max(head.ms, 0.001);
byId("axis").value = head.ms > 0 ? "time" : "order";
let view = [0, 1]; // of the axis, as shares of the whole
const byTime = () => byId("axis").value === "time";
const beginOf = (n) => (byTime() ? starts[n] / lastTime : n / Math.max(count, 1));
const endOf = (n) => (byTime() ? ends[n] / lastTime : (n + 1) / Math.max(count, 1));

function drawTimes() {
  const width = lanes.clientWidth, height = Math.min(lanes.clientHeight || 160, Math.max(head.tasks.length * LANE + 4, LANE));
  byId("lanes-space").style.height = Math.max(head.tasks.length * LANE + 4 - height, 0) + "px";
  const sharp = window.devicePixelRatio || 1;
  canvas.width = width * sharp; canvas.height = height * sharp; canvas.style.height = height + "px";
  const pen = canvas.getContext("2d"), look = getComputedStyle(document.documentElement), colour = (name) => look.getPropertyValue("--" + name).trim();
  const colours = [colour("good"), colour("soft"), colour("model"), colour("tool"), colour("wait"), colour("other")], bad = colour("bad");
  pen.scale(sharp, sharp);
  pen.clearRect(0, 0, width, height);
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const first = Math.floor(lanes.scrollTop / LANE), last = Math.min(first + Math.ceil(height / LANE) + 1, head.tasks.length);
  const room = width - LABEL - 8, scale = room / (view[1] - view[0]);
  for (let lane = first; lane < last; lane++) {
    const top = lane * LANE - lanes.scrollTop;
    pen.fillStyle = colour("soft");
    pen.fillText(head.tasks[taskOfLane[lane]] ? "task " + head.tasks[taskOfLane[lane]] : "run", 8, top + LANE / 2, LABEL - 12);
    let until = -1, drawn = -1;
    for (let at = laneStarts[lane]; at < laneStarts[lane + 1]; at++) {
      const n = inLanes[at], begin = (beginOf(n) - view[0]) * scale, end = Math.max((endOf(n) - view[0]) * scale, begin + 1.5);
      if (end < 0 || begin > room) continue;
      const look = flags[n] & STATE.failed ? -2 : flags[n] & STATE.quiet ? 1 : head.groups[kindOf[n]];
      if (end <= until && look === drawn && n !== selected) continue; // it would be drawn over what is there
      pen.fillStyle = look === -2 ? bad : colours[look];
      const x = Math.max(begin, 0), w = Math.min(end, room) - x;
      pen.fillRect(LABEL + x, top + 4, w, LANE - 7);
      until = end; drawn = look;
    }
  }
  if (selected >= 0) {
    const lane = laneOfTask[taskOf[selected]], x = (beginOf(selected) - view[0]) * scale, w = Math.max((endOf(selected) - beginOf(selected)) * scale, 2);
    if (x + w >= 0 && x <= room) {
      pen.strokeStyle = colour("ink"); pen.lineWidth = 2;
      pen.strokeRect(LABEL + Math.max(x, 0) - 2, lane * LANE - lanes.scrollTop + 2, Math.min(w, room) + 4, LANE - 3);
    }
  }
  const from = byTime() ? seconds(view[0] * lastTime) + " s" : "row " + (Math.floor(view[0] * count) + 1);
  const to = byTime() ? seconds(view[1] * lastTime) + " s" : "row " + Math.ceil(view[1] * count);
  byId("range").textContent = from + " to " + to;
}
function showLane() {
  if (selected >= 0) {
    const top = laneOfTask[taskOf[selected]] * LANE, middle = (beginOf(selected) + endOf(selected)) / 2;
    if (top < lanes.scrollTop) lanes.scrollTop = top;
    else if (top + LANE > lanes.scrollTop + lanes.clientHeight) lanes.scrollTop = top + LANE - lanes.clientHeight;
    if (middle < view[0] || middle > view[1]) zoom(1, middle);
  }
  later(drawTimes);
}
function zoom(by, around) {
  const size = Math.min((view[1] - view[0]) * by, 1);
  const begin = Math.min(Math.max(around - size / 2, 0), 1 - size);
  view = [begin, begin + size];
  later(drawTimes);
}
const middle = () => (selected >= 0 ? (beginOf(selected) + endOf(selected)) / 2 : (view[0] + view[1]) / 2);
byId("closer").addEventListener("click", () => zoom(0.5, middle()));
byId("farther").addEventListener("click", () => zoom(2, middle()));
byId("whole").addEventListener("click", () => zoom(1e9, 0.5));
byId("axis").addEventListener("change", () => { view = [0, 1]; later(drawTimes); });
canvas.addEventListener("click", (event) => {
  const lane = Math.floor((event.offsetY + lanes.scrollTop) / LANE);
  if (lane >= head.tasks.length) return;
  const at = view[0] + ((event.offsetX - LABEL) / (lanes.clientWidth - LABEL - 8)) * (view[1] - view[0]);
  let best = -1, distance = Infinity;
  for (let i = laneStarts[lane]; i < laneStarts[lane + 1]; i++) {
    const n = inLanes[i], away = at < beginOf(n) ? beginOf(n) - at : at > endOf(n) ? at - endOf(n) : 0;
    if (away < distance) { best = n; distance = away; }
  }
  if (best < 0) return;
  if (placeOf(best) < 0) { byId("show").value = "rows"; byId("search").value = ""; hits = null; selected = best; choose(); }
  select(best);
});

const planned = new Set();
function later(work) {
  if (planned.has(work)) return;
  planned.add(work);
  requestAnimationFrame(() => { planned.delete(work); work(); });
}

// ---------------------------------------------------------------- sums, keys, beginning

function drawSums() {
  const names = ["requests", "failed", "retried", "schema", "in", "cached", "out", "reasoning", "cost", "time", "as before"];
  const top = element("tr", {}, element("th", { scope: "col" }, "model"));
  for (const name of names) top.append(element("th", { scope: "col" }, name));
  const body = element("tbody");
  for (const sums of head.models.slice(0, 1000)) {
    const line = element("tr", {}, element("th", { scope: "row" }, sums.model + " on " + sums.connection));
    for (const name of names) {
      let text = name === "cost" ? (sums.priced ? "$" + sums.cost.toFixed(4) : "–") : name === "time" ? span(sums.ms) : "";
      if (name === "as before") text = sums.bytes ? Math.floor((100 * sums.shared) / sums.bytes) + " %" : "–";
      line.append(element("td", {}, text || grouped(sums[name])));
    }
    body.append(line);
  }
  byId("sums-table").append(element("table", {}, element("thead", {}, top), body));
  byId("sums").open = head.models.length > 0 && head.models.length < 6;
  byId("sums").hidden = head.models.length === 0;
}

byId("controls").addEventListener("submit", (event) => { event.preventDefault(); list.focus(); });
let typing = 0;
byId("search").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(search, 150); });
byId("show").addEventListener("change", choose);
list.addEventListener("scroll", () => later(drawList));
lanes.addEventListener("scroll", () => later(drawTimes));
new ResizeObserver(() => { later(drawList); later(drawTimes); }).observe(byId("halves"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => later(drawTimes));

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const on = document.activeElement, writes = on && (on.tagName === "INPUT" || on.tagName === "SELECT");
  if (event.key === "Escape") {
    if (on === byId("search") && on.value) { on.value = ""; search(); }
    list.focus();
    event.preventDefault();
    return;
  }
  if (writes) return;
  const page = Math.max(Math.floor(list.clientHeight / ROW) - 1, 1), inList = on === list || on === document.body || on === null;
  const steps = { j: 1, k: -1, ...(inList ? { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page } : {}) };
  const ends = { g: -Infinity, G: Infinity, ...(inList ? { Home: -Infinity, End: Infinity } : {}) };
  if (event.key in steps) move(steps[event.key]);
  else if (event.key in ends) { if (shown.length) select(shown[ends[event.key] < 0 ? 0 : shown.length - 1]); }
  else if (event.key === "/") byId("search").focus();
  else if (event.key === "Enter" && inList) byId("detail").focus();
  else return;
  event.preventDefault();
});

byId("about").textContent = head.about;
drawSums();
choose();
drawTimes();
document.documentElement.dataset.ready = performance.now().toFixed(0);
