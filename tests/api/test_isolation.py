"""Runs of one program share its code and nothing that a run wrote (G-2.25)."""

from __future__ import annotations

import asyncio
import re

import concerto

PROGRAM = concerto.compile("""
hashmap h: HashMap<String, String> = HashMap::new();
ledger l: Ledger = Ledger::new();
memory log: Memory = Memory::new();
tool T { description: "t", last: String = "none", @describe("m") @param("q", "q") pub fn put(mut self, q: String) -> String {
    let old = self.last;
    self.last = q;
    old
} }
model M { provider: offline, memory: log, tools: [T] }
pub fn plant(value: String) -> String {
    h.set("planted", value);
    l.insert("k", [value], value);
    let before = T.put(value);
    let reply = M.execute("value ${value}").unwrap();
    std::time::sleep(1);
    "${before} ${reply.text}"
}
pub fn seen(value: String) -> String {
    std::time::sleep(1);
    let reply = M.execute("again").unwrap();
    "${h.query(|_k, _v| true)} ${l.entries()} ${T.put(value)} ${log.messages()} ${reply.text}"
}
fn main() { emit("x", seen("")); }
""")


def test_no_run_sees_what_another_planted() -> None:
    async def one(number: int) -> str:
        async with PROGRAM.session(offline=True) as session:
            first = await session.acall("plant", f"planted{number}.")
            return f"{first} {await session.acall('seen', f'planted{number}.')}"

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*(one(number) for number in range(200)))

    for number, text in enumerate(asyncio.run(all_of_them())):
        assert set(re.findall(r"planted(\d+)\.", text)) == {str(number)}
        assert text.startswith("none ") and text.count(f"planted{number}.") >= 6
