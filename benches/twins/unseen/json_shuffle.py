"""JSON in, walked, turned round by another key, JSON out."""

import json


def document(n):
    people = [
        {
            "id": i,
            "name": f"person {i}",
            "team": f"team {i % 12}",
            "skills": [f"s{i % 5}", f"s{i % 3}"],
            "address": {"zip": 10000 + i, "city": f"c{i % 40}"},
        }
        for i in range(n)
    ]
    return json.dumps({"people": people, "version": 2}, separators=(",", ":"))


def regrouped(text):
    data = json.loads(text)
    teams = {}
    cities = {}
    for person in data["people"]:
        member = {"name": person["name"], "zip": person["address"]["zip"], "first": person["skills"][0]}
        teams.setdefault(person["team"], []).append(member)
        city = person["address"]["city"]
        cities[city] = cities.get(city, 0) + 1
    return {"teams": teams, "cities": cities, "version": data["version"] + 1}


def main(n, emit):
    out = regrouped(document(n))
    text = json.dumps(out, separators=(",", ":"))
    emit("letters", len(text))
    emit("start", text[:120])
    emit("cities", out["cities"])
