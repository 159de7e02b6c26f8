"""The page of the papers that the product builds on, with the figures that can be reproduced."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dovemq.experiments.catalogue import CITATIONS, EXPERIMENTS
from tools.markdown import code, page, section, table


@dataclass(frozen=True, slots=True)
class Paper:
    """`used` says what of the paper is in the product."""

    authors: tuple[str, ...]
    year: int
    title: str
    venue: str
    address: str
    used: str

    @property
    def citation(self) -> str:
        """Such as `Li et al. (2015)`."""
        names = [author.split()[-1] for author in self.authors]
        shown = " and ".join(names) if len(names) == 2 else f"{names[0]} et al."
        return f"{shown} ({self.year})"


PAPERS: Final[Mapping[str, Paper]] = {
    "vma": Paper(
        ("Jing Li", "Yidong Cui", "Yan Ma"),
        2015,
        "Modeling Message Queueing Services with Reliability Guarantee in Cloud Computing "
        "Environment Using Colored Petri Nets",
        "Mathematical Problems in Engineering, volume 2015, article 383846",
        "https://doi.org/10.1155/2015/383846",
        "Its queue service is a model in three forms: closed form, compiled simulation and "
        "coloured Petri net (`dovemq model vma`), with the pages of its net.",
    ),
    "joram": Paper(
        ("Christophe Taton", "Noël De Palma", "Sara Bouchenak", "Daniel Hagimont"),
        2009,
        "Improving the performances of JMS-based applications",
        "International Journal of Autonomic Computing 1(1), pages 81–102",
        "",
        "Its rules for adding and removing partitions of a queue and for electing the partition of "
        "a client. Queues with `Partitions=auto` size themselves by these rules, and the same "
        "decisions steer simulated queues.",
    ),
    "elastic": Paper(
        ("Phuong Nguyen", "Klara Nahrstedt"),
        2016,
        "Resource Management for Elastic Publish Subscribe Systems: A Performance Modeling-based "
        "Approach (Extended Version)",
        "technical report, University of Illinois; the shorter version is in IEEE CLOUD 2016, "
        "pages 561–568",
        "https://hdl.handle.net/2142/89262",
        "Its open network of topics and jobs is a model (`dovemq model network`); its algorithms "
        "MinTime, MinCost and Random plan consumers (`dovemq plan`). The resource manager of "
        "workflows follows them while jobs run (`dovemq workflow manager`), and sizes the front "
        "ends of a service, too.",
    ),
    "rds": Paper(
        (
            "Masafumi Kinoshita",
            "Hiroaki Konoura",
            "Takafumi Koike",
            "Kenji Leibnitz",
            "Masayuki Murata",
        ),
        2017,
        "High Throughput Dequeueing Technique in Distributed Message Queues for IoT",
        "Journal of Information Processing 25, pages 199–208",
        "https://doi.org/10.2197/ipsjjip.25.199",
        "Its three ways to search partitions for messages, which simulations and the service use "
        "(`DequeueStrategy`).",
    ),
    "bdqs": Paper(
        ("Han Chen", "Fan Ye", "Minkyong Kim", "Hui Lei"),
        2011,
        "A Scalable Cloud-based Queuing Service with Improved Consistency Levels",
        "30th IEEE International Symposium on Reliable Distributed Systems (SRDS), pages 229–234",
        "https://doi.org/10.1109/SRDS.2011.35",
        "The index of (visible time, id) of every queue, the attribute `OrderHint` (its K), the "
        "measures of order and duplicates, the workload of `dovemq load run`, and queues that have "
        "no owner (`Coordination=none` and `serial`).",
    ),
}


def papers_page() -> str:
    own = [(code(name), each.title) for name, each in EXPERIMENTS.items() if "-" not in name]
    return page(
        "Papers",
        "Documents, commands and figures name papers by these short names. `dovemq reproduce ID` "
        "makes a figure and says whether the paper's claims about it hold: [how "
        "to](../how-to/reproduce-the-papers.md). "
        "[The models](../explanation/models.md#the-papers-misprints-and-readings) and, for joram "
        "and rds, [the simulations](../explanation/fabric-simulations.md) and [the measurements of "
        "partitions](../explanation/fabric-measurements.md), and for bdqs [its "
        "measurements](../explanation/bdqs-measurements.md) have the misprints of the papers, how "
        "gaps were filled, and which claims do not hold.",
        *(_section(name, paper) for name, paper in PAPERS.items()),
        section("Figures of our own", table(("id", "figure"), own)),
    )


def _section(name: str, paper: Paper) -> str:
    figures = [
        (code(each), experiment.title)
        for each, experiment in EXPERIMENTS.items()
        if each.startswith(f"{name}-")
    ]
    assert CITATIONS.get(name) == (paper.citation if figures else None), "two names for one paper"
    lines = [
        f"{', '.join(paper.authors)}: *{paper.title}* ({paper.year}).",
        f"{paper.venue[0].upper()}{paper.venue[1:]}.",
        f"<{paper.address}>" if paper.address else "",
    ]
    return section(
        name,
        " ".join(line for line in lines if line),
        f"In the product: {paper.used[0].lower()}{paper.used[1:]}",
        table(("id", "figure"), figures) if figures else "No figure can be reproduced yet.",
    )
