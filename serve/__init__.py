"""A program as a web service (S-1.1 to S-1.8): the ASGI application behind `concerto serve` and `concerto.asgi(…)`, and the
server that runs it. `asgi.py` is what users and the command enter by, `app.py` what `concerto mcp` takes. It knows programs by
the host API (`api/`) alone; Starlette and uvicorn, the extra `serve`, are imported nowhere else."""
