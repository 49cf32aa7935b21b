"""Lists in a dict of the module: sessions that collect their pages."""


def visit(visits, session, page):
    pages = visits.setdefault(session, [])
    pages.append(page)
    return len(pages)


def main(n, emit):
    visits = {}
    longest = 0
    for i in range(n):
        longest = max(longest, visit(visits, f"s{i * 7 % 5}", f"/page/{i % 30}"))
    letters = 0
    for pages in visits.values():
        letters += len(" ".join(pages))
    emit("sessions", len(visits))
    emit("longest", longest)
    emit("letters", letters)
