"use strict";
// What `concerto view` adds to the page: while the run goes on it asks whether there is more, and shows that, at the row that was read.

const PLACE = location.pathname;
const was = JSON.parse(sessionStorage.getItem(PLACE) || "null");
if (was !== null) {
  sessionStorage.removeItem(PLACE);
  byId("show").value = was.show;
  choose();
  const row = was.atEnd ? shown[shown.length - 1] : was.row;
  if (shown.length) select(row);
  if (!was.atEnd) list.scrollTop = was.top;
}

const asking = setInterval(async () => {
  let state = null;
  try {
    const answer = await fetch(PLACE + "/state", { cache: "no-store" });
    if (answer.ok) state = await answer.json();
  } catch {
    // said below
  }
  if (state === null) {
    clearInterval(asking);
    byId("about").textContent = head.about + " · no longer followed: concerto view has ended";
  } else if (state.rows > count && !byId("search").value) {
    const atEnd = selected === -1 || selected === shown[shown.length - 1];
    sessionStorage.setItem(PLACE, JSON.stringify({ show: byId("show").value, row: selected, atEnd, top: list.scrollTop }));
    location.reload();
  } else if (state.over) clearInterval(asking);
}, 1000);
