"""Spec files: what is written can be read again."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from dovemq.models.specs import toml_text

names = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1)
values = st.recursive(
    st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), names),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=12,
)


@given(st.dictionaries(names, values, max_size=5))
def test_written_tables_are_read_again(content: dict[str, object]) -> None:
    assert tomllib.loads(toml_text(content)) == content
