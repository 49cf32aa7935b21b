// Runs a served program by the client of AG-UI; prints a line for each thing that it saw.
import { HttpAgent } from "@ag-ui/client";

const [, , url] = process.argv;
const headers = { Authorization: "Bearer 0123456789abcdef" };
let count = 0;
const said = (content) => ({ id: `u${++count}`, role: "user", content });
const warned = [];
console.warn = (text) => warned.push(text);

function agent(name, threadId, more = {}) {
  return new HttpAgent({ url: `${url}/ag-ui/${name}`, headers, threadId, ...more });
}

async function told(agent, parameters) {
  const seen = [];
  const result = await agent.runAgent(parameters, { onEvent: ({ event }) => void seen.push(event) });
  return { ...result, seen, kinds: seen.map((event) => event.type).join(" ") };
}

// A text in pieces, emits between, and the messages of the client after it.
const streaming = agent("told", "t1");
streaming.addMessage(said("x"));
const streamed = await told(streaming);
console.log(streamed.kinds);
console.log(JSON.stringify(streamed.result), streaming.messages.map((one) => `${one.role}:${one.content}`).join("|"));

// A function of one String, which keeps its conversation in the session of the thread.
const chat = agent("talk", "t2");
for (const text of ["a", "b"]) {
  chat.addMessage(said(text));
  console.log("kept", (await told(chat)).result);
}
const other = agent("talk", "t3");
other.addMessage(said("a"));
console.log("kept", (await told(other)).result);

// A public model, and a typed result without a message.
const clerk = agent("Clerk", "t4");
clerk.addMessage(said("Hello"));
console.log((await told(clerk)).newMessages[0].content);
const sorted = agent("sorted", "t5");
sorted.addMessage(said("x"));
const ticket = await told(sorted);
console.log(JSON.stringify(ticket.result), ticket.newMessages.length);

// Shared state: a parameter takes it, an emit gives it back.
const counter = agent("step", "t6", { initialState: { count: 4 } });
counter.addMessage(said("x"));
await told(counter);
console.log("state", JSON.stringify(counter.state));

// A question interrupts the run; a wrong answer leaves it open, a right one goes on.
const payer = agent("pay", "t7");
payer.addMessage(said("7"));
const asked = await told(payer);
const [interrupt] = payer.pendingInterrupts;
console.log(asked.kinds, interrupt.reason, interrupt.message, JSON.stringify(interrupt.responseSchema));
const answer = (payload) => [{ interruptId: interrupt.id, status: "resolved", payload }];
payer.addMessage(said("never mind"));
try {
  await told(payer, { resume: answer("perhaps") });
} catch (error) {
  console.log(error.status, error.payload.error.code);
}
const paid = await told(payer, { resume: answer(true) });
console.log(paid.kinds, JSON.stringify(paid.result), payer.pendingInterrupts.length);
const refused = agent("pay", "t8");
refused.addMessage(said("8"));
await told(refused);
const failing = await told(refused, { resume: [{ interruptId: refused.pendingInterrupts[0].id, status: "cancelled" }] }).catch((error) => error);
console.log(failing.message ?? failing.seen.at(-1).message);

// Tools of the frontend are refused; a failure of the program is the error of the run.
const tools = [{ name: "color", description: "", parameters: {} }];
await told(agent("told", "t9"), { tools }).catch((error) => console.log(error.status, error.payload.error.message));
const failed = agent("failing", "t9");
failed.addMessage(said("x"));
const last = [];
await failed.runAgent({}, { onRunErrorEvent: ({ event }) => void last.push(event) }).catch(() => {});
console.log(last[0].code, last[0].message, JSON.stringify(last[0].metadata.value.kind));

// Who aborts a run cancels its call.
const slow = agent("slow", "t10");
slow.addMessage(said("x"));
await slow.runAgent({}, { onCustomEvent: () => slow.abortRun() }).catch(() => {});
console.log("aborted", warned.length);
