// An agent by the TypeScript SDK of ACP, made by others than the models that Concerto uses: it tells a plan and a tool call,
// asks for a permission, reads and writes the file that the prompt names, and says what came of it.
import * as acp from "@agentclientprotocol/sdk";
import { Readable, Writable } from "node:stream";

const cancelled = new Set();
const said = (sessionId, text) => ({ sessionId, update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } } });

acp
  .agent({ name: "peer" })
  .onRequest(acp.methods.agent.initialize, ({ params }) => ({
    protocolVersion: params.protocolVersion,
    agentCapabilities: { promptCapabilities: { embeddedContext: true } },
    agentInfo: { name: "peer", version: "1" },
  }))
  .onRequest(acp.methods.agent.session.new, ({ params }) => ({ sessionId: `in ${params.cwd}` }))
  .onRequest(acp.methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId } = params;
    const path = params.prompt.find((block) => block.type === "text").text;
    await client.notify(acp.methods.client.session.update, {
      sessionId,
      update: { sessionUpdate: "plan", entries: [{ content: "edit", priority: "high", status: "pending" }] },
    });
    await client.notify(acp.methods.client.session.update, said(sessionId, "I edit."));
    await client.notify(acp.methods.client.session.update, {
      sessionId,
      update: { sessionUpdate: "tool_call", toolCallId: "t1", title: "edit", kind: "edit", status: "pending" },
    });
    const asked = await client.request(acp.methods.client.session.requestPermission, {
      sessionId,
      toolCall: { toolCallId: "t1" },
      options: [
        { optionId: "yes", name: "Do it", kind: "allow_once" },
        { optionId: "no", name: "Leave it", kind: "reject_once" },
      ],
    });
    if (asked.outcome.outcome !== "selected" || asked.outcome.optionId !== "yes") {
      await client.notify(acp.methods.client.session.update, said(sessionId, "left"));
      return { stopReason: "end_turn" };
    }
    try {
      const { content } = await client.request(acp.methods.client.fs.readTextFile, { sessionId, path });
      await client.request(acp.methods.client.fs.writeTextFile, { sessionId, path, content: content.toUpperCase() });
      await client.notify(acp.methods.client.session.update, said(sessionId, "edited"));
    } catch (error) {
      await client.notify(acp.methods.client.session.update, said(sessionId, `error ${error.code}: ${error.message}`));
    }
    return { stopReason: cancelled.has(sessionId) ? "cancelled" : "end_turn" };
  })
  .onNotification(acp.methods.agent.session.cancel, ({ params }) => {
    cancelled.add(params.sessionId);
  })
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
