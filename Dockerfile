# A container that runs one program: its image, Concerto, and no source and no compiler run. `docs/guide/deploy.md` tells of it.
#
#     docker build --build-arg PROGRAM=examples/ticket.conc -t ticket .
#     docker run --rm --read-only -e ANTHROPIC_API_KEY ticket
#
# In a project of your own the first stage installs a wheel of Concerto in place of this repository.

FROM python:3.13-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN python -m venv /opt/concerto \
 && /opt/concerto/bin/python -m pip install --no-cache-dir . \
 && /opt/concerto/bin/python -m pip uninstall --yes pip
ARG PROGRAM=examples/ticket.conc
RUN mkdir /app && /opt/concerto/bin/concerto compile "$PROGRAM" -o /app/program.concb

FROM python:3.13-slim-bookworm
COPY --from=build /opt/concerto /opt/concerto
COPY --from=build /app /app
# Nothing is written while it runs: bytecode was compiled by pip, translated code of earlier runs is for machines that live longer.
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /app
USER 10001:10001
ENTRYPOINT ["/opt/concerto/bin/python", "-I", "-X", "frozen_modules=on", "-m", "concerto", "run", "--no-code-cache", "program.concb"]
