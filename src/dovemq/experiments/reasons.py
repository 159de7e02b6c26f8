"""Why claims do not hold, as far as it is known.

A verdict is always computed. A text here is shown beside it only when the claim does not hold, and
explains it; docs/explanation has the details. Nothing here decides anything.
"""

from collections.abc import Mapping, Sequence
from typing import Final

UNKNOWN: Final = (
    "The reason is not known. The data of the figure show what was found; more runs, or a machine "
    "without other work, would tell whether it was chance."
)
"""Stands for a claim that has never been looked into."""

Reasons = Sequence[tuple[str, str]]
"""A part of the claim's text, and the reason; the first part that fits counts."""

_OUR_PAGE: Final = (
    "The pictures of the paper's net were not available, and its text names few of the nodes. Our "
    "page has what the described behaviour needs."
)
_SHARED_MACHINE: Final = (
    "All servers and clients share one machine. When it is busy, servers get less than their share "
    "of the CPU, and the machine is measured instead of the queue."
)
_WAITING_CHEAP: Final = (
    "The index of a partition is in memory and a receive costs the same for any number of waiting "
    "messages, so they hardly slow a queue down."
)
_ASKS_THE_OTHER: Final = (
    "A front end whose own partition is empty asks the other one at once, so that consumers of a "
    "badly distributed queue still find messages."
)
_NO_DOUBLING: Final = (
    "With half of the clients at each partition, commit groups are half as large and cost more for "
    "each message, and the search of the other partition costs CPU too. Consumers that take "
    "batches do get twice as much from two front ends (python -m bench.scaling)."
)
_MODEL_STEP: Final = (
    "Clients stay where they are, so that the new partition has only the last producer and its two "
    "consumers, which fill half of it. The rate could double only if such a group filled a "
    "partition by itself, and then its capacity would not be 12 clients."
)
_NOT_FILLED: Final = (
    "Four producers and eight consumers do not fill two partitions under our reading of the work "
    "of a client, which the paper does not give."
)
_NEAR_ITS_LIMIT: Final = (
    "2,000 messages a second leave the queues little room, so that every further access takes time "
    "from sends. Up to 1,000 messages/s rds keeps about 95 % with a sleep of 5 s. The paper does "
    "not give the rate of sends."
)
_OTHER_SLEEP: Final = (
    "The best sleep grows with the rates of messages and of requests, and short runs favour long "
    "sleeps. The paper gives neither rates nor the length of its runs, so the conditions under "
    "which 5 s was best are not known."
)
_FEW_ACCESSES: Final = (
    "Back ends that wait for their answers have at most one access each under way. Misses then "
    "take little of the queues' time, so there is nothing to lose and little to gain."
)
_REGULATED: Final = (
    "A pms that regulates hardly misses: it asks no queue for more than its last look has shown. "
    "The paper names regulation as a part of pms, but its results look like those of one without."
)
_CHEAP_MISS: Final = (
    "A miss costs our owners about a third of a send, and twenty sends in the paper's table 1. "
    "There is less to gain by avoiding misses; rds gains mostly from larger hits."
)
_FULL_SOONER: Final = (
    "Our partitions fill sooner than the paper's: while a request sleeps, hundreds of messages "
    "arrive at each, so that longer sleeps still fill a receive. 0.1 s is short here, and 1 to 2 s "
    "are not too long."
)
_REPLICAS: Final = (
    "Three servers keep three replicas of a message and one server keeps one, so that a message "
    "costs them more than three times as much. The paper's sizes all have three replicas."
)
_CPU_ALONE: Final = (
    "The simulation knows CPU alone. Whatever else a request waits for, such as the next period of "
    "the quota, is not in it, and weighs most with few servers and few clients."
)
_COLLISIONS: Final = (
    "Duplicates come from claims that collide while a receive is under way. On a small machine "
    "receives take many times as long as in the paper, and collide more."
)

REASONS: Final[Mapping[str, Reasons]] = {
    "vma-fig3": (
        (
            "three levels",
            "We count Visibility_Timeout, a page below Broker, as a fourth level. The paper says "
            "three levels and calls it a lower layer of Broker.",
        ),
    ),
    "vma-fig6": (("13 places", _OUR_PAGE),),
    "vma-fig10": (
        (
            "only Broker",
            "Queue_Index takes the place of Msg_Vis, and Msg_Vis is a port on several pages: they "
            "change with it. Enqueue adds no id to it, since the index is made by order.",
        ),
    ),
    "vma-fig13": (
        (
            "much lower in order, read as busy",
            "Mean busy threads / n cannot depend on the order of delivery: the work is the same. "
            "The paper does not define utilisation.",
        ),
        (
            "much lower in order, read as P(",
            "Waiting for older messages leaves the broker idle at times and busy with several "
            "afterwards. This lowers the time in which any thread is busy, but not to half.",
        ),
        (
            "read as busy",
            "Mean busy threads / n is the work that arrives, divided by n. The broker has 1/q "
            "times the work of the sender in either order.",
        ),
    ),
    "vma-fig14": (
        (
            "stays at about 47 %",
            "Utilisation is λ·s/n, in proportion to the service time s: it cannot stay constant "
            "while s grows. 47 % is its value at one service time for each n.",
        ),
    ),
    "elastic-fig4": (
        (
            "Random does not reach",
            "By the model more than half of the runs of Random keep 50 s with ten consumers. The "
            "paper measured it on its system.",
        ),
    ),
    "elastic-fig5": (("", f"{_SHARED_MACHINE} Sleeps of tasks are prolonged."),),
    "elastic-fig6": (("", f"{_SHARED_MACHINE} Sleeps of tasks are prolonged."),),
    "elastic-fig7": (
        (
            "MinCost keeps",
            "The plan has 5 iterations. The measured mean may be below 50 s one iteration sooner "
            "or later, since it is close to 50 s after each of them.",
        ),
        (
            "Random does not reach",
            "The best of the runs of Random is judged. By the model, two of three runs reach 50 s "
            "within ten consumers.",
        ),
        ("", f"{_SHARED_MACHINE} Sleeps of tasks are prolonged."),
    ),
    "elastic-fig8": (
        (
            "about 15 %",
            "The share depends on how soon the manager acts. The paper gives neither its threshold "
            "nor its window; other settings of ours touch 0 to 39 %.",
        ),
        (
            "allocation after",
            "The manager plans from the rates that it has measured. A window that ends before the "
            "burst is fully in it gives another allocation.",
        ),
        ("", _SHARED_MACHINE),
    ),
    "elastic-measured": (
        (
            "",
            f"{_SHARED_MACHINE} The time between two tasks of a worker is then longer, which the "
            "model does not know.",
        ),
    ),
    "elastic-model": (
        (
            "",
            "The decomposition treats topics as independent. At high utilisation the arrivals of "
            "one depend on the departures of another.",
        ),
    ),
    "rds-fig9": (("keeps its throughput", _NEAR_ITS_LIMIT),),
    "rds-fig12": (("is the best sleep", _OTHER_SLEEP), ("there is a best sleep", _OTHER_SLEEP)),
    "rds-readings": (
        ("loses throughput", _FEW_ACCESSES),
        ("pms that regulates", _REGULATED),
        ("1.8 times", _FEW_ACCESSES),
        ("keeps its throughput", _NEAR_ITS_LIMIT),
    ),
    "rds-fig14": (
        ("falls with the rate", _FEW_ACCESSES),
        ("sleep of 0.1 s", f"{_CHEAP_MISS} {_FULL_SOONER}"),
        ("180 %", _CHEAP_MISS),
        ("sleeps", _FULL_SOONER),
    ),
    "joram-fig4": (("more slowly", _WAITING_CHEAP), ("", _SHARED_MACHINE)),
    "joram-fig5": (
        (
            "twice as much",
            "A send is one request, a receive and its delete are two. How much less a consumer "
            "does than a producer depends on what each of them costs.",
        ),
        ("", _SHARED_MACHINE),
    ),
    "joram-fig6": (("", _SHARED_MACHINE),),
    "joram-fig7": (("", _SHARED_MACHINE),),
    "joram-fig8": (("", _ASKS_THE_OTHER),),
    "joram-fig9": (("0.35 / 0.19", _NO_DOUBLING), ("", _SHARED_MACHINE)),
    "joram-fig10": (("", _SHARED_MACHINE),),
    "joram-fig11": (("settles", _SHARED_MACHINE), ("", f"{_NO_DOUBLING} {_SHARED_MACHINE}")),
    "joram-model-balance": (
        ("1.84 times", _NOT_FILLED),
        (
            "lower what is consumed",
            "An uneven but stable distribution costs less than the 14 % of the paper's numbers. "
            "With exchange our controller moves messages to the idle consumers.",
        ),
        (
            "more than they consume",
            "The exchange moves what one partition has too much to the other, whose consumers "
            "have room, so that nothing piles up.",
        ),
    ),
    "joram-model-provisioning": (("by 1.95", _MODEL_STEP),),
    "bdqs-fig4": (
        ("more servers", _REPLICAS),
        ("simulation predicts", _CPU_ALONE),
        ("", _SHARED_MACHINE),
    ),
    "bdqs-fig5": (("", _SHARED_MACHINE),),
    "bdqs-fig6": (
        (
            "ten times less",
            "Without order a message moves by a share of the whole backlog, and the queue is "
            "shorter than the paper's.",
        ),
        ("", _COLLISIONS),
    ),
    "bdqs-fig7": (("duplicat", _COLLISIONS), ("", _SHARED_MACHINE)),
    "bdqs-fig8": (
        (
            "receives degrade",
            "With three servers instead of 50 a run has few failures, and with one answer enough "
            "(R = W = 1) the other two servers take over.",
        ),
        ("", _SHARED_MACHINE),
    ),
    "loop": (
        (
            "",
            "A mean of some seconds is disturbed by whatever else the machine does; "
            "docs/explanation/calibration.md lists what was found.",
        ),
    ),
}
"""Reasons by id. A figure of which every claim has held so far has no entry."""


def reason_of(name: str, claim: str) -> str:
    for part, reason in REASONS.get(name, ()):
        if part in claim:
            return reason
    return UNKNOWN
