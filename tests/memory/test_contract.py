"""Every store keeps the contract (M-8.4, M-8.12)."""

import pytest

from .contract import CONTRACT


@pytest.mark.parametrize("rule", CONTRACT, ids=lambda rule: rule.__name__)
def test_contract(rule, open_store):
    rule(open_store)
