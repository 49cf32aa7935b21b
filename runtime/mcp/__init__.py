"""MCP servers: their settings, what they offer, connections to them (O-4.36 to O-4.47, O-4.50 to O-4.56).

`served` merges the settings and compares what a server offers with the program's declarations; `servers` keeps the servers of a
session, and is what programs and models ask. `opening` opens a connection under the permissions of the program: `wire` speaks the
protocol through the official SDK, which the first connection loads, `carrier` is its HTTP, `login` its OAuth. `resources` makes
values of what a server has besides tools, `questions` answers what it asks of a person, `pins` are tools as a person accepted
them. The package itself hands on nothing: its modules are imported one by one.
"""
