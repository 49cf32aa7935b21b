"""Durable runs of Concerto beside LangGraph, DBOS and Temporal, on one program that waits for an approval."""
