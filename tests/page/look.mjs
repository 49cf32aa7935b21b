// Looks at a page in Chromium, as the commands on standard input say (one JSON array), and prints what each gave, as one JSON array.
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const [executablePath, path, scheme, width] = process.argv.slice(2);
const commands = JSON.parse(readFileSync(0, "utf8"));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const context = await browser.newContext({ colorScheme: scheme, viewport: { width: Number(width), height: 900 }, bypassCSP: false });
const page = await context.newPage();
const messages = [], requests = [];
page.on("console", (message) => messages.push(message.text()));
page.on("pageerror", (error) => messages.push(String(error)));
page.on("request", (request) => requests.push(request.url()));
await page.goto(path.includes("://") ? path : "file://" + path);
// The policy of the page forbids `eval`, with which a browser's own waiting would look at it.
async function until(expression) {
  for (let left = 3000; left > 0; left--) {
    // a page that loads itself anew has nothing to look at for a moment
    if (await page.evaluate(expression).catch((error) => { if (!String(error).includes("navigation")) throw error; })) return;
    await new Promise((go) => setTimeout(go, 20));
  }
  throw new Error("never came true: " + expression);
}
await until("document.documentElement.dataset.ready !== undefined");
const given = [];
for (const [name, ...words] of commands) {
  if (name === "evaluate") given.push(await page.evaluate(words[0]));
  else if (name === "press") { await page.keyboard.press(words[0]); given.push(null); }
  else if (name === "type") { await page.keyboard.type(words[0]); given.push(null); }
  else if (name === "wait") { await until(words[0]); given.push(null); }
  else if (name === "screenshot") { await page.screenshot({ path: words[0] }); given.push(null); }
  else if (name === "axe") {
    // by the protocol, past the page's own policy, which lets no other script run
    const session = await context.newCDPSession(page);
    await session.send("Runtime.evaluate", { expression: readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8") });
    const result = await session.send("Runtime.evaluate", { expression: "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html + ' ' + n.failureSummary)]))", awaitPromise: true, returnByValue: true });
    given.push(result.result.value);
  } else if (name === "names") {
    // every control of the accessibility tree with its name
    const session = await context.newCDPSession(page);
    const { nodes } = await session.send("Accessibility.getFullAXTree");
    const roles = ["button", "searchbox", "combobox", "listbox", "option", "textbox", "DisclosureTriangle", "link", "img", "image", "region"];
    given.push(nodes.filter((node) => !node.ignored && roles.includes(node.role?.value)).map((node) => [node.role.value, node.name?.value || ""]));
  } else throw new Error("unknown command " + name);
}
await browser.close();
console.log(JSON.stringify({ given, messages, requests }));
