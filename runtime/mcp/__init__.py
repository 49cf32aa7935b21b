"""MCP servers: their settings, what they offer, connections to them (O-4.36 to O-4.47).

`served` merges the settings and compares what a server offers with the program's declarations; `servers` keeps the servers of a
session; `wire` connects to one through the official SDK, which the first connection loads.
"""
