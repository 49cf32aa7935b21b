"""A program as a web service (S-1): the ASGI application behind `concerto serve` and `concerto.asgi(…)`, and the server that runs
it. It knows programs by the host API (`api/`) alone; Starlette and uvicorn, the extra `serve`, are imported nowhere else."""
