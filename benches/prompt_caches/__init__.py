"""What a conversation costs where providers cache the beginnings of prompts: ours by memory policy, and that of other frameworks.

`python -m benches.prompt_caches` runs it; `--peers PYTHON` names an interpreter with `requirements.txt` installed.
"""
