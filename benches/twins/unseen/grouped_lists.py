"""Lists in a dict, extended where they are."""


def main(n, emit):
    teams = ["red", "green", "blue", "white"]
    groups = {}
    for i in range(n):
        groups.setdefault(teams[i * i % 4], []).append(i)
    for team, members in groups.items():
        emit(team, [len(members), sum(members)])
