"""The metrics of `bdqs`, §V.A, computed by their definitions."""

from collections.abc import Sequence

from dovemq.models.consistency import Consistency

Receive = tuple[int, bool]


def longest_increasing(values: Sequence[int]) -> int:
    best: list[int] = []
    for place, value in enumerate(values):
        before = [best[earlier] for earlier in range(place) if values[earlier] < value]
        best.append(1 + max(before, default=0))
    return max(best, default=0)


def consistency(sent: Sequence[int], received: Sequence[Receive]) -> Consistency:
    """Measures a stream by the numbers sent, and those received with whether they were intact."""
    first_receives = list(dict.fromkeys(number for number, _ in received))
    intact = {number for number, right in received if right}
    messages = set(sent)
    in_order = sorted(first_receives)
    return Consistency(
        messages=len(messages),
        duplicates=len(received) - len(first_receives),
        absent=len(messages - set(first_receives)),
        corrupted=len(messages & set(first_receives) - intact),
        ordered=len(first_receives),
        out_of_order=len(first_receives) - longest_increasing(first_receives),
        displacement=sum(
            abs(position - in_order.index(number)) for position, number in enumerate(first_receives)
        ),
    )
