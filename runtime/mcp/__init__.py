"""MCP servers: what they are called with, what they offer, connections to them (O-4.36 to O-4.47).

`settings` merges the fields, `served` holds what a server offers against its signatures, `servers` keeps those of a session,
`stdio`, `http` and `sdk` connect to one through the official SDK, which is loaded by the first connection.
"""
