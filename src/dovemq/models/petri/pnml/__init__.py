"""PNML (ISO/IEC 15909-2), the exchange format of Petri net tools.

P/T nets are read and written, with inhibitor arcs, reset arcs, read arcs and capacities as other
tools write them. Symmetric nets are read. Whatever else changes the behaviour of a net is refused
by name, and so are files with a document type, which could load or expand other content.

    document.py    the XML document: which net, its nodes, their labels
    reading.py     P/T nets
    symmetric.py   symmetric nets; `terms.py`: their expressions
    writing.py     P/T nets
"""

from dovemq.models.petri.errors import NetInvalid, Where
from dovemq.models.petri.nets import Net
from dovemq.models.petri.pnml.document import PnmlNet
from dovemq.models.petri.pnml.reading import PtReader
from dovemq.models.petri.pnml.symmetric import SymmetricReader
from dovemq.models.petri.pnml.writing import write_pnml as write_pnml

_PT_KINDS = ("ptnet", "PTNet", "P/T net")


def read_pnml(text: str, source: str = "PNML", net: str = "") -> Net:
    """Reads a net; all its pages become one page.

    `net` is the id or the name of the net to read. A document of several nets needs it.
    """
    document = PnmlNet.of(text, Where(source), net)
    kind = document.kind
    if not kind or kind.endswith(_PT_KINDS):
        return PtReader(document).read()
    if kind.endswith("symmetricnet"):
        return _read_symmetric(document)
    raise NetInvalid(document.where, f"only P/T nets and symmetric nets are read, not {kind}")


def _read_symmetric(document: PnmlNet) -> Net:
    try:
        return SymmetricReader(document).read()
    except NetInvalid:
        raise
    except (IndexError, ValueError) as error:
        raise NetInvalid(document.where, f"a declaration or term is incomplete: {error}") from None
