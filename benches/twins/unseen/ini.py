"""An INI file read into sections, with comments, defaults and typed look-ups."""


class Refused(Exception):
    pass


def section(i):
    enabled = "true" if i % 3 == 0 else "false"
    return (
        f"; service {i}\n[service{i}]\nname = worker {i}\nport={8000 + i}\nenabled = {enabled}\n\n# limits\ntimeout = {i % 40} \n"
    )


def parse(text):
    sections = {}
    current = ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith((";", "#")):
            continue
        if line.startswith("["):
            if not line.endswith("]"):
                raise Refused(f"line {number}: no closing bracket")
            current = line[1:-1]
            sections[current] = {}
            continue
        key, sign, value = line.partition("=")
        if not sign:
            raise Refused(f"line {number}: no value")
        sections[current][key.strip()] = value.strip()
    return sections


def number(sections, name, key, fallback):
    try:
        return int(sections.get(name, {}).get(key, ""))
    except ValueError:
        return fallback


def main(n, emit):
    text = "".join(section(i) for i in range(n))
    sections = parse(text)
    ports = timeouts = enabled = 0
    for i in range(n):
        name = f"service{i}"
        ports += number(sections, name, "port", 80)
        timeouts += number(sections, name, "timeout", 30) + number(sections, name, "retries", 3)
        if sections[name]["enabled"] == "true":
            enabled += 1
    emit("sections", len(sections))
    emit("ports", ports)
    emit("timeouts", timeouts)
    emit("enabled", enabled)
    try:
        parse("[a]\nb = 1\nc\n")
        emit("broken", "none")
    except Refused as e:
        emit("broken", str(e))
